import type { AuditEvent } from '../audit/index.ts';
import type { RunRecord } from './store.ts';

/** A run as it is to be recorded, with the events that tell of it. */
export type RunEntry = { record: RunRecord; events: readonly AuditEvent[] };

/** A caller's word for one wish: the same word with the same fingerprint is the same run. */
export type RunKey = {
  key: string;
  /** Of the request. */
  fingerprint: string;
  /** Of earlier uses only those since then count. */
  since: number;
};

/** Beyond them a tenant waits, or is refused. */
export type RunQuotas = { running: number; queued: number };

/** A run that may start: at once, or when its turn comes. */
export type Admission = {
  /** How it is recorded in either case. */
  begin: RunEntry;
  queue: RunEntry;
  /** Whether whoever asks has room for it now. */
  hasRoom: boolean;
  quotas: RunQuotas;
  /** For tenants of whom the store does not know better, when it is asked who else is in line. */
  defaults: RunQuotas;
  /** How many of all tenants may be in line. */
  queueLimit: number;
  key: RunKey | null;
};

/** `full`: its tenant has as many in line as it may, or all tenants together have. `taken`: another run has the key. Nothing was written then. */
export type Admitted = 'begun' | 'queued' | 'full' | 'taken';

export type RunUsage = {
  /** On the way: preparing, running or collecting. */
  running: number;
  queued: number;
  /** Of artifacts and logs. */
  storageBytes: number;
};

/** A process that takes runs from the queue. `owner` is as in the records of the runs that it has. */
export type Instance = { id: string; owner: string; seenAt: number };

/**
 * Runs whose turn has not come. Each method is one transaction, so that any number of processes may share a queue: a run is
 * taken by one of them, and whoever was taken for dead and is not has lost it by the number of its attempt.
 */
export interface RunQueue {
  /** What a tenant's key stands for; null when nobody used it since then. */
  findKey(
    tenant: string | null,
    key: Pick<RunKey, 'key' | 'since'>,
  ): Promise<{ fingerprint: string; run: string } | null>;
  /**
   * Records a run that does not start by itself: it was denied, or waits for a person. Of those that wait a tenant has at most
   * `mostWaiting`. When it is full or the key is taken nothing was written.
   */
  record(entry: RunEntry, key: RunKey | null, mostWaiting: number): Promise<'written' | 'taken' | 'full'>;
  /** It begins when there is room, its tenant may have one more, and nobody is in line who could have the room instead. */
  admit(admission: Admission): Promise<Admitted>;
  /**
   * Takes the run whose turn it is, as `preparing` and with this owner: of the tenants in line that may have one more, one
   * with the fewest on the way, and of that tenant the oldest. Of several such tenants it is the one after `last` by name,
   * which is who was served before, so that turns go round; with null it is the one that has waited longest. Null when there
   * is none.
   */
  claim(owner: string, defaults: RunQuotas, last: string | null): Promise<RunRecord | null>;
  /** Puts a run that is `preparing` back in line, its attempt counted. False when it has begun, or is somebody else's by now. */
  requeue(run: RunRecord, events: readonly AuditEvent[]): Promise<boolean>;
  /** Takes a run out of the line, as it is given. False when it is not in line any more. */
  leave(run: RunRecord, events: readonly AuditEvent[]): Promise<boolean>;
  usage(tenant: string | null): Promise<RunUsage>;
  /** Over all tenants, for whoever watches over the machine. */
  lengthOfAllTenants(): Promise<{ running: number; queued: number }>;
  /** Forgets keys that were used before. */
  forgetKeys(before: number): Promise<void>;
  /** Says that this process lives. */
  beat(instance: Instance): Promise<void>;
  instances(): Promise<Instance[]>;
  /** Of processes that were not seen since then, or of one that ends. */
  forgetInstances(which: { seenBefore: number } | { id: string }): Promise<void>;
}
