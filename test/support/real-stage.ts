import { type ApiCaller, apiRoutes, createServer, type SignedBlobs } from '../../src/api/index.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { operator } from '../../src/callers/index.ts';
import { wellKnownIndex } from '../../src/registry/index.ts';
import type { Scope, Service } from '../../src/service/index.ts';
import type { SignedLinks, Store } from '../../src/store/index.ts';
import { ASKS, type Fixture, STAGE_LIMITS, type Stage, type Tenant } from '../api/operations.ts';
import { TESTER } from './events.ts';
import { bytesOf } from './record.ts';
import { askingZip, type TestService, zipOf } from './service.ts';

const HELLO = `mkdir -p "$SANDBOX_FILES_DIR/out"
printf hello > "$SANDBOX_FILES_DIR/out/hello.html"
echo said
`;
const SLOW = 'echo begun; sleep 600\n';

/** `links`: null where the blobs are kept elsewhere, and links to them are signed there. */
export type Behind = { service: TestService; store: Store; links: SignedLinks | null };

/** The same stage with the real service behind it: real keys, real runs, links that were really signed. */
export async function realStage({ service: behind, store, links }: Behind): Promise<Stage> {
  const { callers } = behind;
  const keeper = operator(TESTER);
  const server = await createServer({
    authenticate: async token => (token.startsWith(NOBODY) ? withoutScopes(token) : callers.verify(token)),
    serviceFor: caller => behind.serviceFor(caller),
    rates: { failuresPerMinute: 100_000, anonymousPerMinute: 100_000 },
    routes: [
      apiRoutes({
        version: '0.0.0',
        publicUrl: null,
        blobs: links === null ? null : openLinks(store, links),
        index: wellKnownIndex,
        limits: STAGE_LIMITS,
      }),
    ],
  });
  const made = new Map<string, Promise<string>>();
  const keyOf = (tenant: Tenant, scopes: readonly Scope[], who: string) => {
    const name = `${who} ${tenant} ${scopes.join()}`;
    if (scopes.length === 0) return Promise.resolve(`${NOBODY}${tenant}`);
    const wish = { name: who, tenant, scopes, expiresAt: null };
    const key =
      made.get(name) ??
      callers
        .keysFor(keeper)
        .create(wish)
        .then(({ secret }) => secret);
    made.set(name, key);
    return key;
  };
  const furnisher = new Furnisher(behind, links);
  return {
    inject: options => server.inject({ ...options, method: options.method as 'GET' }),
    as: async (tenant, scopes, who = 'first') => ({ authorization: `Bearer ${await keyOf(tenant, scopes, who)}` }),
    furnish: tenant => furnisher.furnish(tenant),
    fail: null,
    async close() {
      await server.close();
      await behind.close();
    },
  };
}

const NOBODY = 'without-scopes@';

/** A key has at least one scope; people whom an identity provider vouches for may have none. */
function withoutScopes(token: string): ApiCaller {
  const tenant = token.slice(NOBODY.length);
  return { tenant, id: 'nobody', scopes: [], expiresAt: null, key: null, requestsPerMinute: 100_000 };
}

function openLinks(store: Store, links: SignedLinks): SignedBlobs {
  return async (sha256, query) => {
    const { filename, contentType } = links.verify(sha256, query);
    const [bytes, content] = await Promise.all([store.blobs.size(sha256), store.blobs.read(sha256)]);
    if (bytes === null || content === null) throw new SkillboxError('NOT_FOUND', 'it is not kept');
    return { filename, contentType, bytes, content };
  };
}

const zip = (name: string, version: string, more = '') => zipOf({ name, version, body: `${HELLO}# ${more}\n` });

class Furnisher {
  readonly #behind: TestService;
  readonly #links: SignedLinks | null;
  #count = 0;
  /** What went on before is ended: places to run are few. */
  #running: { service: Service; id: string } | null = null;

  constructor(behind: TestService, links: SignedLinks | null) {
    this.#behind = behind;
    this.#links = links;
  }

  async furnish(tenant: Tenant): Promise<Fixture> {
    this.#count++;
    const first = this.#behind.as(tenant, 'first');
    const second = this.#behind.as(tenant, 'second');
    await this.#running?.service.runs.cancel(this.#running.id);
    await publishAll(first);
    await first.secrets.set('custom/token', 'a value that is long enough', []);
    const asked = await run(second, ASKS.skill);
    await first.approvals.answer(asked, 'once');
    const [answer] = (await first.approvals.answers({ limit: 1, after: null })).items;
    const wish = { name: 'k', tenant: null, scopes: ['read' as const], expiresAt: null };
    const { key } = await first.keys.create(wish);
    const { key: old } = await first.keys.create(wish);
    await first.keys.revoke(old.id);
    const ended = await run(second, 'hello');
    const { archive } = await second.runs.wait(ended, { timeoutMs: 20_000, signal: null });
    const running = await run(second, 'slow-a');
    this.#running = { service: second, id: running };
    return {
      ended,
      waiting: await run(second, ASKS.skill),
      running,
      answer: answer?.id ?? '',
      key: key.id,
      revoked: old.id,
      tenant: (await first.tenants.create(`tenant-${this.#count}`, {})).name,
      links: this.#links === null ? null : linksOf(this.#links, archive?.sha256 ?? '', tenant),
      zip,
    };
  }
}

function linksOf(links: SignedLinks, sha256: string, tenant: Tenant): NonNullable<Fixture['links']> {
  const wish = { filename: 'a.html', contentType: 'text/html', seconds: 600, tenant };
  const good = links.sign(sha256, wish);
  return { good, altered: good.replace('a.html', 'b.html'), gone: links.sign('c'.repeat(64), wish) };
}

async function publishAll({ skills }: Service): Promise<void> {
  const options = { tags: [], version: null };
  await skills.publish(bytesOf(zip('hello', '1.0.0')), options);
  await skills.publish(bytesOf(zipOf({ name: 'slow-a', body: SLOW })), options);
  await skills.publish(bytesOf(askingZip('wait-a')), options);
  await skills.unyank('hello', '1.0.0');
  await skills.tag('hello', 'stable', '1.0.0');
}

async function run({ runs }: Service, skill: string): Promise<string> {
  const { tool, arguments: given } = ASKS;
  const asks = { kind: 'tool', name: tool, arguments: given } as const;
  const target = skill === ASKS.skill ? asks : ({ kind: 'main' } as const);
  const request = { skill, version: null, target, input: {}, stdin: null, env: {}, timeoutMs: null };
  return (await runs.start(request, { idempotencyKey: null })).id;
}
