import {
  type ApiServer,
  apiRoutes,
  createServer,
  type RouteOptions,
  type ServerOptions,
  type SignedBlobs,
} from '../../src/api/index.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { wellKnownIndex } from '../../src/registry/index.ts';
import { FakeWorld } from '../support/fake-service.ts';
import { as, byName } from './support.ts';

export type Served = { world: FakeWorld; server: ApiServer; routes: { method: string; url: string }[] };

/** The whole API over a service of plain maps. */
export async function serveWorld(
  limits: RouteOptions['limits'] = {},
  options: Partial<ServerOptions> = {},
  more: (api: ApiServer) => void = () => {},
): Promise<Served> {
  const world = new FakeWorld();
  const routes: Served['routes'] = [];
  const server = await createServer({
    authenticate: byName,
    serviceFor: caller => world.serviceFor(caller),
    routes: [
      api => {
        api.addHook('onRoute', ({ method, url }) => {
          for (const each of [method].flat()) if (each !== 'HEAD') routes.push({ method: each, url });
        });
      },
      apiRoutes({ version: '9.9.9', publicUrl: null, limits, blobs: blobsOf(world), index: wellKnownIndex }),
      more,
    ],
    rates: { failuresPerMinute: 100_000, anonymousPerMinute: 100_000 },
    ...options,
  });
  return { world, server, routes };
}

/** The one blob that there is has the name of 64 times b, and each link is good whose signature is the word. */
function blobsOf(world: FakeWorld): SignedBlobs {
  return async (sha256, query) => {
    if (world.fault !== null) throw new SkillboxError(world.fault.code, 'as the test wants it');
    if (query.get('signature') !== 'good') throw new SkillboxError('LINK_REFUSED', 'it was altered');
    if (!sha256.startsWith('b')) throw new SkillboxError('NOT_FOUND', 'there is no such blob');
    const bytes = Buffer.from('<script>');
    const content = (async function* () {
      yield bytes;
    })();
    return {
      filename: query.get('filename') ?? '',
      contentType: query.get('type') ?? '',
      bytes: bytes.length,
      content,
    };
  };
}

export const archiveOf = (name: string, version: string, more = ''): Buffer =>
  Buffer.from(`skill ${name} ${version}\n${more}`);

export async function publish(server: ApiServer, name: string, version = '1.0.0', key = 'all'): Promise<void> {
  const headers = { 'content-type': 'application/zip', ...as(key) };
  const answer = await server.inject({ method: 'POST', url: '/v1/skills', payload: archiveOf(name, version), headers });
  if (answer.statusCode !== 201) throw new Error(`${answer.statusCode} ${answer.body}`);
}

export async function start(server: ApiServer, skill: string, key = 'all'): Promise<string> {
  const answer = await server.inject({
    method: 'POST',
    url: '/v1/executions',
    payload: { skill, input: 1 },
    headers: { prefer: 'respond-async', ...as(key) },
  });
  if (answer.statusCode > 202) throw new Error(`${answer.statusCode} ${answer.body}`);
  return answer.json().execution_id;
}

/** Listens on this machine, on any port. */
export async function listening(server: ApiServer): Promise<string> {
  return server.listen({ host: '127.0.0.1', port: 0 });
}
