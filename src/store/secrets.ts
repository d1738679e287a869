import type { AuditEvent } from '../audit/index.ts';

/** A secret as it is kept: its value is sealed by whoever writes it (secrets/), and every field beside it is bound to the seal. */
export type SecretRow = {
  /** Empty: the one who runs Skillbox. */
  tenant: string;
  name: string;
  /** Counts the values that the name had. */
  version: number;
  /** `provider` or `custom`. */
  kind: string;
  hosts: string[];
  createdAt: number;
  changedAt: number;
  usedAt: number | null;
  /** The data key of this version, under the master key. */
  wrapped: Buffer;
  /** The value, under the data key. */
  sealed: Buffer;
};

/** `version` of the row must be one more than the one that is there; the first is 1. */
export type SecretChange = {
  row: SecretRow;
  /** The master key that wrapped it, by its id. */
  keyId: string;
  events: readonly AuditEvent[];
};

/** `stale`: another version came first. `other-key`: the rows are under another master key by now. Nothing was written then. */
export type SecretWritten = 'written' | 'stale' | 'other-key';

export type Rekeying = {
  from: string;
  to: string;
  /** The data key of the row, wrapped anew. What it throws undoes everything. */
  rewrap: (row: SecretRow) => Buffer;
  events: readonly AuditEvent[];
};

/** Where sealed secrets are kept. Every change is one transaction. */
export interface SecretRows {
  /** Which master key all rows are under; null while there are none. */
  keyId(): Promise<string | null>;
  get(tenant: string, name: string): Promise<SecretRow | null>;
  /** By name. */
  list(tenant: string): Promise<SecretRow[]>;
  write(change: SecretChange): Promise<SecretWritten>;
  /** False when there is none. */
  remove(tenant: string, name: string, events: readonly AuditEvent[]): Promise<boolean>;
  /** When they were last handed out. */
  touch(tenant: string, names: readonly string[], at: number): Promise<void>;
  /** Every row of every tenant or none. False when the rows are under another key than `from`. */
  rekey(change: Rekeying): Promise<boolean>;
}
