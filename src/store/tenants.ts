import type { AuditEvent } from '../audit/index.ts';

/** Who shares a server. Everything in the store belongs to one of them, or to nobody: that is the machine's own user. */
export type TenantRow = {
  name: string;
  createdAt: number;
  disabledAt: number | null;
  quotas: { running: number; queued: number; storageBytes: number; requestsPerMinute: number };
};

export interface TenantRows {
  get(name: string): Promise<TenantRow | null>;
  /** By name, those after `after`. */
  list(limit: number, after: string | null): Promise<TenantRow[]>;
  /** False when there is one of that name: nothing was written. */
  insert(row: TenantRow, events: readonly AuditEvent[]): Promise<boolean>;
  /** False when there is none of that name, or it is not as it was `before`: somebody else has written meanwhile. */
  update(before: TenantRow, row: TenantRow, events: readonly AuditEvent[]): Promise<boolean>;
}

/** Whether what may change is the same in both. */
export function isUnchanged(one: TenantRow, other: TenantRow): boolean {
  const { running, queued, storageBytes, requestsPerMinute } = one.quotas;
  return (
    one.disabledAt === other.disabledAt &&
    running === other.quotas.running &&
    queued === other.quotas.queued &&
    storageBytes === other.quotas.storageBytes &&
    requestsPerMinute === other.quotas.requestsPerMinute
  );
}

/** An API key as it is kept: whoever reads it cannot use it. */
export type KeyRow = {
  /** Stands in the key itself, to be found by. */
  id: string;
  tenant: string;
  name: string;
  scopes: string[];
  /** SHA-256 of the secret, in hex. The secret is 256 random bits, so nothing slower is needed. */
  hash: string;
  /** After a rotation: what still works until then. */
  previous: { hash: string; until: number } | null;
  createdAt: number;
  createdBy: string;
  /** Made by one who is no admin: it is theirs, and ends with the key that it was made with. */
  derived: boolean;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
};

export interface KeyRows {
  get(id: string): Promise<KeyRow | null>;
  /** Of one tenant, or of all with null; by id, those after `after`. */
  list(tenant: string | null, limit: number, after: string | null): Promise<KeyRow[]>;
  insert(row: KeyRow, events: readonly AuditEvent[]): Promise<void>;
  /** Only while there is none at all, whoever else starts at the same moment; false when there is one. */
  insertFirst(row: KeyRow, events: readonly AuditEvent[]): Promise<boolean>;
  /**
   * Everything but `lastUsedAt` and whose it is. False when there is none of that id, when it was revoked, which stays so, or
   * when its secret is not `hash` any more: somebody else has rotated it meanwhile.
   */
  update(row: KeyRow, hash: string, events: readonly AuditEvent[]): Promise<boolean>;
  /** Told to the disk when there is time, and never backwards: it is for people to look at. */
  touch(id: string, at: number): Promise<void>;
}
