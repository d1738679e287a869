import { Readable } from 'node:stream';
import Type from 'typebox';
import { attachment } from '../base/index.ts';
import type { Bytes } from '../service/index.ts';
import type { ApiServer } from './server.ts';

/** What a signed link brings. */
export type Linked = { filename: string; contentType: string; bytes: number; content: Bytes };

/** Throws LINK_REFUSED for a link that was altered or has expired. */
export type OpenLink = (sha256: string, query: URLSearchParams) => Promise<Linked>;

/** Links that the server signed itself, for blobs on its own disk. The signature is the key: nobody need say who they are. */
export function linkRoutes(open: OpenLink): (server: ApiServer) => void {
  return server => {
    const params = Type.Object({ sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) });
    server.get('/v1/blobs/:sha256', { config: { scope: 'anyone' }, schema: { params } }, async (request, reply) => {
      const { searchParams } = new URL(request.url, 'http://localhost');
      const { filename, contentType, bytes, content } = await open(request.params.sha256, searchParams);
      const { type, disposition } = attachment(filename, contentType);
      return reply
        .headers({
          'content-type': type,
          'content-length': String(bytes),
          'content-disposition': disposition,
          'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
          etag: `"${request.params.sha256}"`,
        })
        .send(Readable.from(content, { objectMode: false }));
    });
  };
}
