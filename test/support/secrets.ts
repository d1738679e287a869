import { join } from 'node:path';
import type { Entry } from '../../src/audit/index.ts';
import type { BrokerSurroundings } from '../../src/broker/index.ts';
import { type KeySource, openSecrets, openVault, type Secrets, type Vault } from '../../src/secrets/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { WRITER } from './record.ts';

/** A store, and the vault on it, as one process opens them. */
export function openTestVault(directory: string, key?: KeySource): { store: Store; vault: Vault } {
  const store = openStore(directory, WRITER);
  const source = key ?? { kind: 'own', path: join(directory, 'master.key') };
  return { store, vault: openVault({ rows: store.secrets, key: source, tenant: null }) };
}

export function openTestSecrets(
  directory: string,
  broker: BrokerSurroundings = { pins: [], roots: [] },
): Secrets & { store: Store } {
  const store = openStore(directory, WRITER);
  const masterKey: KeySource = { kind: 'own', path: join(directory, 'master.key') };
  return {
    store,
    ...openSecrets({
      rows: store.secrets,
      journal: store.journal,
      dataDirectory: directory,
      masterKey,
      broker,
    }),
  };
}

export async function valueIn(vault: Vault, name: string): Promise<string | null> {
  const secret = await vault.open(name);
  const value = secret?.value.toString('utf8') ?? null;
  secret?.close();
  return value;
}

export async function eventsIn(store: Store): Promise<Pick<Entry, 'type' | 'subject' | 'data'>[]> {
  const everything = { types: null, subject: null, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null };
  const { entries } = await store.journal.list(everything, 10_000);
  return entries.map(({ type, subject, data }) => ({ type, subject, data }));
}
