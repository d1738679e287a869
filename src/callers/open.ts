import type { Actor } from '../audit/index.ts';
import type { KeyService, Quotas, TenantService } from '../service/index.ts';
import { SCOPES } from '../service/index.ts';
import type { KeyRows, TenantRows } from '../store/index.ts';
import { type Identity, type Keeper, operator } from './identity.ts';
import { createFirstKey, createKeyService } from './keys.ts';
import { lineOf } from './line.ts';
import { type OidcSettings, openOidc } from './oidc.ts';
import { createTenantService, DEFAULT_TENANT, ensureDefaultTenant, type Usage, unknownTenant } from './tenants.ts';
import { Verifier } from './verify.ts';

export type CallersOptions = {
  keys: KeyRows;
  tenants: TenantRows;
  defaults: Quotas;
  usageOf(tenant: string): Promise<Usage>;
  oidc: OidcSettings | null;
  /** Told of what went wrong without anybody being refused for it. */
  warn(message: string, error: unknown): void;
};

/** Who may call, and what for. */
export interface Callers {
  /** Who holds this token. */
  verify(token: string): Promise<Identity>;
  /** The same without asking anybody: those who were let in a moment ago. */
  recall(token: string): Identity | null;
  /** Told when, in this process, somebody may have lost access; gives what ends it. */
  onChange(tell: () => void): () => void;
  keysFor(keeper: Keeper): KeyService;
  tenantsFor(keeper: Keeper): TenantService;
  quotas(tenant: string): Promise<Quotas>;
  /** Who is behind an id: keys that were made with one another are one holder's. */
  holderOf(id: string): Promise<string>;
  /** The key of a server that has none yet, with every scope; null when there is one. Its text is in this answer only. */
  makeFirstKey(actor: Actor): Promise<string | null>;
}

export function openCallers(options: CallersOptions): Callers {
  const { keys, tenants, defaults } = options;
  const oidc = options.oidc === null ? null : openOidc(options.oidc);
  const untouched = (error: unknown) => options.warn('the last use of a key was not written', error);
  const verifier = new Verifier({ keys, tenants, oidc, untouched });
  const told = new Set<() => void>();
  const changed = () => {
    verifier.forget();
    for (const tell of told) tell();
  };
  const usageOf = (tenant: string) => options.usageOf(tenant);
  const tenantParts = { rows: tenants, defaults, usageOf, changed };
  const keysFor = (keeper: Keeper): KeyService => {
    const service = createKeyService({ rows: keys, tenants, changed }, keeper);
    if (keeper.tenant !== null) return service;
    return {
      ...service,
      async create(wish) {
        // The operator may make a key before any server has run here.
        if ((wish.tenant ?? DEFAULT_TENANT) === DEFAULT_TENANT) await ensureDefaultTenant(tenantParts, keeper);
        return service.create(wish);
      },
    };
  };
  return {
    verify: token => verifier.verify(token),
    recall: token => verifier.recall(token),
    onChange(tell) {
      told.add(tell);
      return () => told.delete(tell);
    },
    keysFor,
    tenantsFor: keeper => createTenantService(tenantParts, keeper),
    async quotas(tenant) {
      const row = await tenants.get(tenant);
      if (row === null) throw unknownTenant(tenant);
      return row.quotas;
    },
    holderOf: async id => (await lineOf(keys, id)).holder,
    async makeFirstKey(actor) {
      if ((await keys.list(null, 1, null)).length > 0) return null;
      const keeper = operator(actor);
      await ensureDefaultTenant(tenantParts, keeper);
      const wish = { name: 'first key', tenant: DEFAULT_TENANT, scopes: SCOPES, expiresAt: null };
      return createFirstKey(keys, wish, DEFAULT_TENANT, keeper);
    },
  };
}
