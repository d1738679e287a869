/** Secrets that skills may use and never hold: the vault, what providers are, tokens, and the net over everything printed. */
export { type Capability, describeCarriers, meaningOf, requireWhole, resolveCapabilities } from './capabilities.ts';
export {
  capabilitiesOf,
  type KnownProvider,
  knownHosts,
  noProvider,
  openProviders,
  type Providers,
  readOwnCapabilities,
} from './catalog.ts';
export { deriveKey } from './derive.ts';
export type { GivenKey, KeySource, NewKey } from './master-key.ts';
export { DEFAULT_BROKER_LIMITS, type Mint, type Minted, type MintRequest, mintToken, revokeToken } from './mint.ts';
export { customKeyOf, kindOf, MAX_VALUE_BYTES, MIN_SCRUBBED_BYTES, SECRET_KINDS, type SecretKind } from './names.ts';
export {
  type Lending,
  openSecrets,
  type ProviderDesk,
  type RekeyWish,
  type SecretDesk,
  type Secrets,
} from './open.ts';
export type { AuthForm, KnownCustom, Provider, ProviderEndpoint, RequestPattern } from './provider.ts';
export type { ProviderDiagnostic } from './provider-faults.ts';
export { SHIPPED_PROVIDERS } from './providers/index.ts';
export { isNeverReached, refusedHosts } from './reach.ts';
export { type ProviderReading, readProvider } from './read-provider.ts';
export { createRedactor, type NamedValue, type Redactor, type RedactStream } from './redact.ts';
export type { Checked } from './test-provider.ts';
export { hashToken, matchesToken, newToken, type TokenRecord, type TokenState, Tokens } from './token.ts';
export { openVault, type SecretInfo, type SecretWish, type Vault } from './vault.ts';
