import { type ApiCaller, type ApiServer, createServer, type ServerOptions } from '../../src/api/index.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { SCOPES, type Scope, type Service } from '../../src/service/index.ts';

/** Keys that are worth their own name: `read`, `read+run`, `all`; the tenant stands after an @. */
export async function byName(token: string): Promise<ApiCaller> {
  const [names = '', tenant = 'acme'] = token.split('@');
  const scopes = names === 'all' ? [...SCOPES] : (names.split('+').filter(name => isScope(name)) as Scope[]);
  if (scopes.length === 0 && names !== 'none') throw new SkillboxError('UNAUTHENTICATED', 'nobody has this key');
  return { tenant, id: names, scopes, expiresAt: null, key: names, requestsPerMinute: 100_000 };
}

function isScope(name: string): boolean {
  return (SCOPES as readonly string[]).includes(name);
}

/** A server with routes of a test. What a caller can do is told by `whoAmI` only. */
export function serve(routes: (server: ApiServer) => void, options: Partial<ServerOptions> = {}): Promise<ApiServer> {
  const serviceFor = (caller: ApiCaller) => ({ whoAmI: async () => caller }) as unknown as Service;
  return createServer({ authenticate: byName, serviceFor, routes: [routes], ...options });
}

export const as = (key: string) => ({ authorization: `Bearer ${key}` });
