import type { Actor } from '../audit/index.ts';
import { SCOPES, type Scope, type WhoAmI } from '../service/index.ts';

/** Somebody who has shown who they are. `key` is null for a person whom an identity provider vouches for. */
export type Identity = WhoAmI & { key: string | null; requestsPerMinute: number };

/** For whom keys and tenants are looked after. The operator of the machine has no tenant, and every right. */
export type Keeper = { tenant: string | null; scopes: readonly Scope[]; expiresAt: number | null; actor: Actor };

export function operator(actor: Actor): Keeper {
  return { tenant: null, scopes: SCOPES, expiresAt: null, actor };
}

/** Words that are no scope give no right. */
export function toScopes(words: readonly string[]): Scope[] {
  return SCOPES.filter(scope => words.includes(scope));
}
