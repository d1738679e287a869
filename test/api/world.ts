import {
  type ApiCaller,
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
import { type Fixture, STAGE_LIMITS, type Stage, type Tenant } from './operations.ts';
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
    authenticate: byWhom,
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

/** A key of `byName`, with the name of its holder and a slash in front where it matters. */
async function byWhom(token: string): Promise<ApiCaller> {
  const [, who, rest = ''] = /^(?:(first|second)\/)?(.*)$/.exec(token) ?? [];
  const caller = await byName(rest);
  return who === undefined ? caller : { ...caller, id: who };
}

/** The one blob that there is has the name of 64 times b, and each link is good whose signature is the word. */
function blobsOf(world: FakeWorld): SignedBlobs {
  return async (sha256, query) => {
    if (world.fault !== null) throw new SkillboxError(world.fault.code, 'as the test wants it');
    if (query.get('signature') !== 'good' || query.get('tenant') !== 'acme')
      throw new SkillboxError('LINK_REFUSED', 'it was altered');
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

/** Everything in it, and nothing behind it. */
export async function worldStage(): Promise<Stage & { routes: Served['routes'] }> {
  const { world, server, routes } = await serveWorld({ ...STAGE_LIMITS, syncWaitMs: 50 });
  let count = 0;
  const furnish = async (tenant: Tenant): Promise<Fixture> => {
    world.fault = null;
    count++;
    const service = world.serviceFor({ tenant, id: 'first', scopes: [], expiresAt: null });
    for (const name of ['hello', 'wait-a', 'slow-a'])
      await service.skills.publish(one(archiveOf(name, '1.0.0')), { tags: ['stable'], version: null });
    await service.skills.unyank('hello', '1.0.0');
    await service.skills.tag('hello', 'stable', '1.0.0');
    await service.secrets.set('custom/token', 'x', []);
    const asker = `second/run@${tenant}`;
    await service.approvals.answer(await start(server, 'wait-a', asker), 'once');
    const answers = await service.approvals.answers({ limit: 1000, after: null });
    const wish = { name: 'k', tenant: null, scopes: ['read' as const], expiresAt: null };
    const { key } = await service.keys.create(wish);
    const { key: old } = await service.keys.create(wish);
    await service.keys.revoke(old.id);
    return {
      ended: await start(server, 'hello', asker),
      waiting: await start(server, 'wait-a', asker),
      running: await start(server, 'slow-a', asker),
      answer: answers.items.at(-1)?.id ?? '',
      key: key.id,
      revoked: old.id,
      tenant: (await service.tenants.create(`tenant-${count}`, {})).name,
      links: { good: link('b'), altered: link('b', 'altered'), gone: link('c') },
      zip: archiveOf,
    };
  };
  return {
    routes,
    inject: options => server.inject({ ...options, method: options.method as 'GET' }),
    as: async (tenant, scopes, who = 'first') =>
      as(`${who}/${scopes.length === 0 ? 'none' : scopes.join('+')}@${tenant}`),
    furnish,
    fail: code => {
      world.fault = code === null ? null : { code };
    },
    close: () => server.close(),
  };
}

async function* one(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Links are good whose signature is the word. */
function link(letter: string, signature = 'good'): string {
  const query = new URLSearchParams({ filename: 'a.html', type: 'text/html', tenant: 'acme', expires: '9', signature });
  return `/v1/blobs/${letter.repeat(64)}?${query.toString()}`;
}
