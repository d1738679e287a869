import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Bytes } from '../service/index.ts';

export type Download = { filename: string; type: string; bytes: number; sha256: string; content: Bytes };

/**
 * Sends bytes of somebody's. Threat: a page or a picture with a script, shown in a browser under our name. So it is always
 * saved and never shown, whatever it holds.
 */
export function sendDownload(reply: FastifyReply, { filename, type, bytes, sha256, content }: Download): FastifyReply {
  return reply
    .headers({
      'content-type': type,
      'content-length': String(bytes),
      'content-disposition': attachment(filename),
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      etag: `"${sha256}"`,
    })
    .send(Readable.from(content, { objectMode: false }));
}

/** RFC 6266: a plain name for those who know no other, and the real one. */
export function attachment(path: string): string {
  const name = path.split('/').at(-1) ?? '';
  const plain = name.replace(/[^A-Za-z0-9._ -]/g, '_').slice(0, 200) || 'file';
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    each => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}
