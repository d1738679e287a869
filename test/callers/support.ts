import { afterEach } from 'vitest';
import { type Entry, openEntry } from '../../src/audit/index.ts';
import { type Callers, type CallersOptions, type Keeper, openCallers, operator } from '../../src/callers/index.ts';
import { SCOPES, type Scope } from '../../src/service/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { WRITER } from '../support/record.ts';
import { tempDir } from '../support/temp.ts';

export const QUOTAS = { running: 2, queued: 10, storageBytes: 1000, requestsPerMinute: 60 };
export const OPERATOR = operator({ id: 'uid:0', channel: 'local' });

const opened: Store[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

export type Gate = { store: Store; callers: Callers; warnings: string[]; directory: string };

/** Who may call, on a store of its own or on one that is there: as another process would. */
export function openGate(options: Partial<CallersOptions> = {}, directory = tempDir('callers')): Gate {
  const store = openStore(directory, WRITER);
  opened.push(store);
  const warnings: string[] = [];
  const callers = openCallers({
    keys: store.keys,
    tenants: store.tenants,
    defaults: QUOTAS,
    usageOf: async () => ({ running: 0, queued: 0, storageBytes: 0 }),
    oidc: null,
    warn: message => warnings.push(message),
    ...options,
  });
  return { store, callers, warnings, directory };
}

export const keeperOf = (
  tenant: string,
  scopes: readonly Scope[] = SCOPES,
  expiresAt: number | null = null,
): Keeper => ({
  tenant,
  scopes,
  expiresAt,
  actor: { id: `${tenant}-key`, channel: 'rest' },
});

/** The operator makes a tenant and a key of it. */
export async function makeKey(
  { callers }: Gate,
  tenant: string,
  scopes: readonly Scope[] = ['read'],
  expiresAt: number | null = null,
): Promise<{ id: string; text: string }> {
  const tenants = callers.tenantsFor(OPERATOR);
  const { items } = await tenants.list({ limit: 100, after: null });
  if (!items.some(({ name }) => name === tenant)) await tenants.create(tenant, {});
  const made = await callers.keysFor(OPERATOR).create({ name: 'a key', tenant, scopes, expiresAt });
  return { id: made.key.id, text: made.secret };
}

/** Every event of a store, the oldest first. */
export async function eventsOf({ store }: Gate): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const step of store.journal.walk()) if (step.kind === 'entry') entries.push(openEntry(step));
  return entries;
}
