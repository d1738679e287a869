import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { attachment, SkillboxError } from '../base/index.ts';
import type { Bytes } from '../service/index.ts';

export type Download = { filename: string; type: string; bytes: number; sha256: string; content: Bytes };

/**
 * Sends bytes of somebody's. Threat: a page or a picture with a script, shown in a browser under our name. So it is always
 * saved and never shown, whatever it holds.
 */
export function sendDownload(reply: FastifyReply, { filename, type, bytes, sha256, content }: Download): FastifyReply {
  const saved = attachment(filename, type);
  return reply
    .headers({
      'content-type': saved.type,
      'content-length': String(bytes),
      'content-disposition': saved.disposition,
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      etag: `"${sha256}"`,
    })
    .send(Readable.from(asAnnounced(content, bytes), { objectMode: false }));
}

/** Threat: whoever is promised more than comes waits for it; what comes beyond it would be taken for the next answer. */
async function* asAnnounced(content: Bytes, bytes: number): AsyncGenerator<Uint8Array> {
  let sent = 0;
  for await (const part of content) {
    sent += part.length;
    if (sent > bytes) break;
    yield part;
  }
  if (sent !== bytes) throw new SkillboxError('BLOB_DAMAGED', `what is stored is not ${bytes} bytes long any more`);
}
