import { type Callers, type OidcSettings, openCallers, operator } from './callers/index.ts';
import type { Config } from './config/index.ts';
import { localActor, thisWriter } from './runs/index.ts';
import type { KeyService, Quotas, Scope, TenantService } from './service/index.ts';
import type { Store } from './store/index.ts';
import { openConfiguredStore } from './stores.ts';

/** Keys and tenants, for the operator of the machine. */
export type People = { keys: KeyService; tenants: TenantService; close(): Promise<void> };

/** The light wiring for those who look after keys: a store, and nothing that could run a skill. */
export async function openPeople(config: Config): Promise<People & { callers: Callers }> {
  const store = await openConfiguredStore(config, thisWriter());
  const callers = callersOn(store, config);
  const keeper = operator(localActor());
  return { callers, keys: callers.keysFor(keeper), tenants: callers.tenantsFor(keeper), close: () => store.close() };
}

/** Who may call, as the configuration says. */
function callersOn(store: Store, config: Config): Callers {
  return openCallers({
    keys: store.keys,
    tenants: store.tenants,
    defaults: quotasOf(config),
    async usageOf(tenant) {
      const [runs, skills] = await Promise.all([store.queue.usage(tenant), store.skills.usage(tenant)]);
      return { ...runs, storageBytes: runs.storageBytes + skills.bytes };
    },
    oidc: oidcOf(config),
    warn: () => undefined,
  });
}

/** What a tenant gets where nothing else is said. */
export function quotasOf(config: Config): Quotas {
  return {
    running: config.get('quotas.running'),
    queued: config.get('quotas.queued'),
    storageBytes: config.get('quotas.storage'),
    requestsPerMinute: config.get('quotas.requestsPerMinute'),
  };
}

export function oidcOf(config: Config): OidcSettings | null {
  const issuer = config.get('oidc.issuer');
  const audience = config.get('oidc.audience');
  if (issuer === null || audience === null) return null;
  return {
    issuer,
    audience,
    jwksUrl: config.get('oidc.jwksUrl'),
    algorithms: config.get('oidc.algorithms'),
    tenantClaim: config.get('oidc.tenantClaim'),
    scopesClaim: config.get('oidc.scopesClaim'),
    grants: grantsOf(config),
  };
}

/** The claims in which OAuth says what a client asked for. What stands in another, such as groups, nobody can ask for. */
const ASKED_CLAIMS: readonly string[] = ['scope', 'scp'];

/** The words that a client asks the issuer for to be given any of these scopes; empty where it cannot ask. */
export function wordsFor({ scopesClaim, grants }: OidcSettings, scopes: readonly Scope[]): string[] {
  if (!ASKED_CLAIMS.includes(scopesClaim)) return [];
  if (grants === null) return [...scopes];
  return Object.keys(grants).filter(word => grants[word]?.some(scope => scopes.includes(scope)));
}

/** `word=scope` as often as wanted; null when there are none. */
function grantsOf(config: Config): Record<string, Scope[]> | null {
  const grants = config.get('oidc.grants');
  if (grants.length === 0) return null;
  const found: Record<string, Scope[]> = Object.create(null) as Record<string, Scope[]>;
  for (const { word, scope } of grants) found[word] = [...(found[word] ?? []), scope];
  return found;
}
