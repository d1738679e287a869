import { join } from 'node:path';
import type { Actor, Caller, Journal } from '../audit/index.ts';
import { SkillboxError, suggest } from '../base/index.ts';
import type { BrokerSurroundings } from '../broker/index.ts';
import type { SecretRows } from '../store/index.ts';
import { knownHosts, openProviders, type Providers } from './catalog.ts';
import type { KeySource, NewKey } from './master-key.ts';
import {
  DEFAULT_BROKER_LIMITS,
  listUnset,
  type Mint,
  type Minted,
  type MintRequest,
  mintToken,
  revokeToken,
} from './mint.ts';
import { customKeyOf, requireName } from './names.ts';
import type { Checked } from './test-provider.ts';
import { Tokens } from './token.ts';
import { openVault, type SecretInfo, type Vault } from './vault.ts';

/** What the operator can do with secrets. There is no way to read one back. */
export type SecretDesk = Pick<Vault, 'rotate' | 'remove' | 'list' | 'get'> & {
  /** As the vault's. */
  rekey(wish: RekeyWish, by: Actor): Promise<number>;
  /** `hosts` null: as they were, or those that the providers' data knows for it. Empty: bound to none. */
  set(name: string, value: Buffer, hosts: readonly string[] | null, by: Actor): Promise<SecretInfo>;
  /** Whether `set` would take the name, before anybody is asked for the value. */
  requireKnown(name: string): void;
};

/** Where the new master key shall be: null where the old one is, `own` in the data directory. */
export type RekeyWish = null | 'own' | 'keyring' | { file: string };

export type ProviderDesk = Providers & {
  /** Whether a skill could use it now. With `online` the host is reached too; the key is never sent. */
  test(name: string, online: boolean): Promise<Checked[]>;
};

/** For runs alone. */
export type Lending = {
  mint(request: MintRequest): Promise<Minted>;
  revoke(run: string, caller: Caller): Promise<void>;
  /** Secrets that a run with these would lack: it would not begin. */
  unset(caller: Caller, capabilities: readonly string[]): Promise<string[]>;
};

export type Secrets = {
  /** Of the machine's own user. */
  secrets: SecretDesk;
  /** Of one tenant, who sees no other's. */
  secretsOf(tenant: string | null): SecretDesk;
  providers: ProviderDesk;
  lending: Lending;
};

export type SecretsOptions = {
  rows: SecretRows;
  journal: Journal;
  dataDirectory: string;
  masterKey: KeySource;
  /** What the operator says about the way of every broker: a provider is tested on the same one. */
  broker: BrokerSurroundings;
};

/** Everything about secrets on one data directory. */
export function openSecrets({ rows, journal, dataDirectory, masterKey, broker }: SecretsOptions): Secrets {
  const record: Mint['record'] = event => journal.append(event);
  const vaultOf = (tenant: string | null) => openVault({ rows, key: masterKey, tenant });
  const providers = openProviders({ dataDirectory, record });
  const mint: Mint = { vaultOf, providers, tokens: new Tokens(), limits: DEFAULT_BROKER_LIMITS, record };
  const secretsOf = (tenant: string | null) => createDesk(vaultOf(tenant), providers, dataDirectory);
  return {
    secrets: secretsOf(null),
    secretsOf,
    providers: {
      ...providers,
      test: async (name, online) => {
        const { testProvider } = await import('./test-provider.ts');
        return testProvider(name, online, vaultOf(null), providers, broker);
      },
    },
    lending: {
      mint: request => mintToken(mint, request),
      revoke: (run, caller) => revokeToken(mint, run, caller),
      unset: (caller, capabilities) => listUnset(mint, caller, capabilities),
    },
  };
}

function createDesk(vault: Vault, providers: Providers, dataDirectory: string): SecretDesk {
  const requireKnown = (name: string) => {
    if (requireName(name) === 'provider') requireProvider(name, providers);
  };
  return {
    rotate: (name, value, by) => vault.rotate(name, value, by),
    remove: (name, by) => vault.remove(name, by),
    list: () => vault.list(),
    get: name => vault.get(name),
    rekey: (wish, by) => vault.rekey(placeOf(wish, dataDirectory), by),
    requireKnown,
    async set(name, value, hosts, by) {
      requireKnown(name);
      const key = customKeyOf(name);
      const fallbackHosts = key === null || hosts !== null ? [] : knownHosts(providers.list(), key);
      return vault.set({ name, value, hosts, fallbackHosts }, by);
    },
  };
}

function placeOf(wish: RekeyWish, dataDirectory: string): NewKey | null {
  if (wish === null) return null;
  if (wish === 'keyring') return { kind: 'keyring' };
  return wish === 'own' ? { kind: 'own', path: join(dataDirectory, 'master.key') } : { kind: 'file', path: wish.file };
}

/** Never says what it was given: it may be a key that was put where the name belongs. */
function requireProvider(name: string, providers: Providers): void {
  const names = providers.list().map(each => each.name);
  if (names.includes(name)) return;
  const meant = suggest(name, names);
  throw new SkillboxError('SECRET_INVALID', 'there is no provider of that name', {
    hint: `${meant === null ? '' : `Did you mean ${meant}? `}Providers: ${names.join(', ')}. Other secrets are called custom/KEY.`,
  });
}
