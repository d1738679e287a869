import { apiRoutes, createServer, type RouteOptions } from '../../src/api/index.ts';
import { operator } from '../../src/callers/index.ts';
import { createClient } from '../../src/client/index.ts';
import { wellKnownIndex } from '../../src/registry/index.ts';
import { SCOPES, type Scope, type Service } from '../../src/service/index.ts';
import { TESTER } from './events.ts';
import { openService, type TestService } from './service.ts';

export type ServedService = {
  url: string;
  behind: TestService;
  /** A key that was really made. */
  keyFor(tenant: string, who?: string, scopes?: readonly Scope[]): Promise<string>;
  clientFor(tenant: string, who?: string): Promise<Service>;
  close(): Promise<void>;
};

/** The real service behind a real server that listens on this machine. */
export async function serveService(behind: TestService, options: Partial<RouteOptions> = {}): Promise<ServedService> {
  const { callers } = behind;
  const server = await createServer({
    authenticate: token => callers.verify(token),
    recall: token => callers.recall(token),
    serviceFor: caller => behind.serviceFor(caller),
    routes: [apiRoutes({ version: '0.0.0', publicUrl: null, blobs: null, index: wellKnownIndex, ...options })],
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const keys = new Map<string, Promise<string>>();
  const make = async (tenant: string, name: string, scopes: readonly Scope[]) => {
    const wish = { name, tenant, scopes, expiresAt: null };
    return (await callers.keysFor(operator(TESTER)).create(wish)).secret;
  };
  const keyFor = (tenant: string, who = 'first', scopes: readonly Scope[] = SCOPES) => {
    const name = `${tenant}/${who}/${scopes.join()}`;
    const key = keys.get(name) ?? make(tenant, who, scopes);
    keys.set(name, key);
    return key;
  };
  return {
    url,
    behind,
    keyFor,
    clientFor: async (tenant, who) => createClient({ url, key: await keyFor(tenant, who) }),
    async close() {
      await server.close();
      await behind.close();
    },
  };
}

export async function openServed(options: Partial<RouteOptions> = {}): Promise<ServedService> {
  return serveService(await openService(), options);
}
