import type { Actor, AuditEvent } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { SecretRow, SecretRows } from '../store/index.ts';
import {
  forgetKey,
  type KeySource,
  leaveOwn,
  type MasterKey,
  type NewKey,
  openMasterKey,
  prepareKey,
} from './master-key.ts';
import { faultOfValue, readHosts, requireName, type SecretKind } from './names.ts';
import { type Label, openValue, rewrapKey, sealValue } from './seal.ts';

/** Everything about a secret but its value. */
export type SecretInfo = {
  name: string;
  kind: SecretKind;
  hosts: string[];
  version: number;
  createdAt: number;
  changedAt: number;
  usedAt: number | null;
};

/** A secret with its value, for whoever hands it to a broker. Close it as soon as that is done. */
export type OpenSecret = SecretInfo & { value: Buffer; close(): void };

export interface Vault {
  /** A new secret, or a new value of one. `hosts` null: as they are, or as `fallbackHosts` says for a new one. */
  set(wish: SecretWish, by: Actor): Promise<SecretInfo>;
  /** A new value of a secret that is there; nothing else of it changes. */
  rotate(name: string, value: Buffer, by: Actor): Promise<SecretInfo>;
  remove(name: string, by: Actor): Promise<void>;
  list(): Promise<SecretInfo[]>;
  get(name: string): Promise<SecretInfo | null>;
  /** null when there is none. */
  open(name: string): Promise<OpenSecret | null>;
  markUsed(names: readonly string[]): Promise<void>;
  /** Every data key under a new master key. `to` null: a new one where the old one is. Answers how many there are. */
  rekey(to: NewKey | null, by: Actor): Promise<number>;
}

export type SecretWish = {
  name: string;
  value: Buffer;
  hosts: readonly string[] | null;
  fallbackHosts: readonly string[];
};

export type VaultOptions = { rows: SecretRows; key: KeySource; tenant: string | null };

/** Several processes may write at once: each tries again on what the others left. */
const MAX_TRIES = 50;

/** Secrets under one master key, which is read anew for every use and overwritten after it. */
export function openVault({ rows, key: source, tenant }: VaultOptions): Vault {
  const owner = tenant ?? '';
  const get = async (name: string): Promise<SecretRow | null> => {
    requireName(name);
    return rows.get(owner, name);
  };

  const put = async (name: string, by: Actor, next: (before: SecretRow | null) => Next): Promise<SecretInfo> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = await get(name);
      const { value, hosts } = next(before);
      const kind = requireName(name);
      const label: Label = { tenant: owner, name, version: (before?.version ?? 0) + 1, kind, hosts };
      const { keyId, isNew, sealed } = await withKey(rows, source, key => ({
        sealed: sealValue(key.bytes, label, value),
        keyId: key.id,
        isNew: key.isNew,
      }));
      const now = Date.now();
      const written: SecretRow = {
        ...label,
        hosts: [...hosts],
        createdAt: before?.createdAt ?? now,
        changedAt: now,
        usedAt: before?.usedAt ?? null,
        ...sealed,
      };
      const outcome = await rows.write({ row: written, keyId, events: [setEvent(written, tenant, by)] });
      if (outcome === 'written') return toInfo(written);
      if (isNew && (await rows.keyId()) !== keyId) await forgetKey(source, keyId); // somebody else's was the first
    }
    throw new SkillboxError('UNWRITABLE', `the secret ${name} is being changed by others all the time; try again`);
  };

  return {
    set: async ({ name, value, hosts, fallbackHosts }, by) => {
      const kind = requireName(name);
      const given = hosts === null ? null : readHosts(hosts);
      if (kind === 'provider' && given !== null && given.length > 0) {
        throw new SkillboxError('SECRET_INVALID', 'the key of a provider is bound to the hosts of the provider', {
          hint: 'Leave --host out, or store it as custom/KEY.',
        });
      }
      return put(name, by, before => {
        const bound = given ?? before?.hosts ?? readHosts(fallbackHosts);
        requireValue(value, kind === 'provider' || bound.length > 0);
        return { value, hosts: bound };
      });
    },
    rotate: (name, value, by) =>
      put(name, by, before => {
        if (before === null) throw missing(name);
        requireValue(value, before.kind === 'provider' || before.hosts.length > 0);
        return { value, hosts: before.hosts };
      }),
    async remove(name, by) {
      const kind = requireName(name);
      const event = about('secret.removed', name, tenant, by, { provider: kind === 'provider' ? name : null });
      if (!(await rows.remove(owner, name, [event]))) throw missing(name);
    },
    list: async () => (await rows.list(owner)).map(toInfo),
    async get(name) {
      const row = await get(name);
      return row === null ? null : toInfo(row);
    },
    async open(name) {
      // The row is read again with the key: between the two somebody may have changed the key.
      for (let tries = 0; ; tries++) {
        const row = await get(name);
        if (row === null) return null;
        try {
          const value = await withKey(rows, source, key => openValue(key.bytes, row, row));
          return { ...toInfo(row), value, close: () => void value.fill(0) };
        } catch (error) {
          if (tries >= 3 || !(error instanceof SkillboxError) || error.code !== 'VAULT_DAMAGED') throw error;
        }
      }
    },
    markUsed: names => rows.touch(owner, names, Date.now()),
    rekey: (to, by) => rekey(rows, source, to, by),
  };
}

type Next = { value: Buffer; hosts: readonly string[] };

async function withKey<T>(rows: SecretRows, source: KeySource, use: (key: MasterKey) => T): Promise<T> {
  const key = await openCurrent(rows, source);
  try {
    return use(key);
  } finally {
    key.close();
  }
}

/** Between the question which key it is and the reading of the key, the key may have been changed: then once more. */
async function openCurrent(rows: SecretRows, source: KeySource): Promise<MasterKey> {
  for (let tries = 0; ; tries++) {
    const wanted = await rows.keyId();
    try {
      return await openMasterKey(source, wanted);
    } catch (error) {
      if (tries >= 3 || (await rows.keyId()) === wanted) throw error;
    }
  }
}

/**
 * A kill at any moment leaves the rows whole under the old key or whole under the new one, and the key that they are under
 * is kept: the new one is there before the first row is changed, and an old file of ours goes after the last. What was in the
 * keyring or is the operator's stays: copies of the store may be under it.
 */
async function rekey(rows: SecretRows, source: KeySource, wish: NewKey | null, by: Actor): Promise<number> {
  const target = wish ?? sameAs(source);
  // Before any key is made: one that nothing is under would only be in the way of the right one.
  if ((await rows.keyId()) === null) {
    throw new SkillboxError('NOT_FOUND', 'there are no secrets, so there is nothing to re-key', {
      hint: 'A master key is made with the first secret: see `skillbox secret set --help`.',
    });
  }
  const from = await openCurrent(rows, source);
  try {
    const to = await prepareKey(target);
    let isKept = false;
    try {
      if (to.id === from.id) {
        throw new SkillboxError('USAGE', 'the secrets are under that key already', {
          hint: 'Name a file with another key, or one that is not there: it is made.',
        });
      }
      const count = await rewrapAll(rows, from, to, by);
      isKept = true;
      return count;
    } finally {
      to.close();
      // Asked of the rows, not of how it went: a key that they are under is never given up.
      if ((await rows.keyId()) !== to.id) await to.giveUp();
      // Changes that may not be on the disk may be gone after a crash: both keys stay, and whoever opens the rows next decides.
      else if (isKept) {
        to.take();
        if (target.kind !== 'own') leaveOwn(source, from.id);
      }
    }
  } finally {
    from.close();
  }
}

async function rewrapAll(rows: SecretRows, from: MasterKey, to: MasterKey, by: Actor): Promise<number> {
  let count = 0;
  const rewrap = (row: SecretRow): Buffer => {
    count++;
    return rewrapKey(from.bytes, to.bytes, row, row.wrapped);
  };
  const event: AuditEvent = about('vault.rekeyed', null, null, by, { before: from.id, after: to.id });
  if (await rows.rekey({ from: from.id, to: to.id, rewrap, events: [event] })) return count;
  throw new SkillboxError('VAULT_LOCKED', 'somebody else has changed the master key meanwhile', {
    hint: 'Nothing was changed. Look whether it is needed still, and try again.',
  });
}

function sameAs(source: KeySource): NewKey {
  if (source.kind === 'own' || source.kind === 'keyring') return source;
  throw new SkillboxError('USAGE', 'the master key is yours, so the new one is too', {
    hint: 'Name a file for it with --key-file; it is made if it is not there.',
  });
}

function requireValue(value: Buffer, inRequests: boolean): void {
  const fault = faultOfValue(value, inRequests);
  if (fault === null) return;
  throw new SkillboxError('SECRET_INVALID', `the value cannot be kept: ${fault}`, {
    hint: inRequests
      ? 'What is put into requests is one line of text. Nothing was stored.'
      : 'A value is text in UTF-8 of at most 64 KiB; spell anything else in base64. Nothing was stored.',
  });
}

function missing(name: string): SkillboxError {
  return new SkillboxError('NOT_FOUND', `there is no secret ${name}`, { hint: '`skillbox secret list` shows them.' });
}

function setEvent({ name, version, kind, hosts }: SecretRow, tenant: string | null, by: Actor): AuditEvent {
  return about('secret.set', name, tenant, by, { provider: kind === 'provider' ? name : null, version, kind, hosts });
}

function about(
  type: AuditEvent['type'],
  subject: string | null,
  tenant: string | null,
  actor: Actor,
  data: AuditEvent['data'],
): AuditEvent {
  return { type, actor, tenant, subject, data };
}

function toInfo({ name, hosts, version, createdAt, changedAt, usedAt }: SecretRow): SecretInfo {
  return { name, kind: requireName(name), hosts, version, createdAt, changedAt, usedAt };
}
