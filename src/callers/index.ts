/** Who is calling a server: API keys, tenants with their quotas, and people whom an identity provider vouches for. */
export { type Identity, type Keeper, operator } from './identity.ts';
export type { Oidc, OidcSettings } from './oidc.ts';
export { type Callers, type CallersOptions, openCallers } from './open.ts';
export { DEFAULT_TENANT, type Usage } from './tenants.ts';
