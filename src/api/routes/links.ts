import { Type } from 'typebox';
import type { SkillService, SkillVersion } from '../../service/index.ts';
import { exactly, NO_QUERY, Sha256 } from '../../wire/index.ts';
import { content, failures, openFailures } from '../components.ts';
import { sendDownload } from '../download.ts';
import type { ApiServer } from '../server.ts';
import { absolute, type RouteContext } from './context.ts';

/** What a signed link brings; throws LINK_REFUSED for one that is not as it was signed. */
export type SignedBlobs = (
  sha256: string,
  query: URLSearchParams,
) => Promise<{ filename: string; contentType: string; bytes: number; content: AsyncIterable<Uint8Array> }>;

/** The index of what a caller is offered, for programs that install skills. `urlOf` says where a version is fetched. */
export type SkillIndex = (
  skills: Pick<SkillService, 'list'>,
  urlOf: (skill: SkillVersion) => string,
) => Promise<{ $schema: string; skills: IndexEntry[] }>;
type IndexEntry = { name: string; type: 'archive'; description: string; url: string; digest: string };

const LinkQuery = exactly({
  filename: Type.String({ maxLength: 4096 }),
  type: Type.String({ maxLength: 256 }),
  tenant: Type.String({ maxLength: 256 }),
  expires: Type.String({ maxLength: 20 }),
  signature: Type.String({ maxLength: 256 }),
});
const IndexAnswer = exactly({
  $schema: Type.String(),
  skills: Type.Array(
    exactly({
      name: Type.String(),
      type: Type.String(),
      description: Type.String(),
      url: Type.String(),
      digest: Type.String({ description: 'of the very bytes at the address' }),
    }),
  ),
});

/** For whoever has a link: the link itself is the leave to fetch. */
export function blobRoutes(server: ApiServer, open: SignedBlobs): void {
  server.get(
    '/v1/blobs/:sha256',
    {
      config: { scope: 'anyone' },
      schema: {
        operationId: 'fetchLink',
        tags: ['artifacts'],
        summary: 'What a signed link stands for, until it expires',
        security: [],
        params: exactly({ sha256: Sha256 }),
        querystring: LinkQuery,
        response: { 200: content('application/octet-stream', 'The bytes.'), ...openFailures(403, 404) },
      },
    },
    async (request, reply) => {
      const { sha256 } = request.params;
      const query = new URLSearchParams(request.url.slice(request.url.indexOf('?')));
      const { filename, contentType: type, bytes, content: body } = await open(sha256, query);
      return sendDownload(reply, { filename, type, bytes, sha256, content: body });
    },
  );
}

export function indexRoute(server: ApiServer, context: RouteContext, index: SkillIndex): void {
  server.get(
    '/.well-known/agent-skills/index.json',
    {
      config: { scope: 'read' },
      schema: {
        operationId: 'getSkillIndex',
        tags: ['skills'],
        summary: 'The index of published skills, for programs that install them',
        querystring: NO_QUERY,
        response: { 200: IndexAnswer, ...failures() },
      },
    },
    request =>
      index(request.service.skills, ({ name, version }) => {
        const path = `/v1/skills/${encodeURIComponent(name)}/${encodeURIComponent(version)}/download`;
        return absolute(path, request, context);
      }),
  );
}
