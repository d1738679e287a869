import type { Actor, AuditEvent, JournalStore } from '../audit/index.ts';
import type { JsonObject, JsonValue } from '../base/index.ts';
import type { AnswerRows } from './answers.ts';
import type { Blob, Blobs } from './blobs.ts';
import type { RunLogs } from './logs.ts';
import type { RunQueue } from './queue.ts';
import type { SecretRows } from './secrets.ts';
import type { SkillRows } from './skills.ts';
import type { KeyRows, TenantRows } from './tenants.ts';

/** Where runs are remembered: records that are found by id, and blobs that are found by their content. */
export interface Store {
  /** Whether other machines may use it as well: then no key that it needs can be a file of one of them. */
  readonly isShared: boolean;
  readonly runs: RunRecords;
  /** Those of them whose turn has not come. */
  readonly queue: RunQueue;
  /** What they print. */
  readonly logs: RunLogs;
  readonly blobs: Blobs;
  /** What the people of one tenant answered when they were asked; null: of the machine's own user. */
  answers(tenant: string | null): AnswerRows;
  /** Secrets, sealed. */
  readonly secrets: SecretRows;
  /** What is published. */
  readonly skills: SkillRows;
  /** Who shares a server. */
  readonly tenants: TenantRows;
  /** API keys, hashed. */
  readonly keys: KeyRows;
  /** For events that change no record; what changes one is told together with it. */
  readonly journal: JournalStore;
  /**
   * Those of the blobs that the store keeps for itself, beside those that runs name: of published skills, of logs, and of
   * sealed parts of the journal.
   */
  keptBlobs(sha256s: readonly string[]): Promise<string[]>;
  /** Throws BACKEND_UNAVAILABLE, or what else stands against it, when records cannot be read and written just now. */
  check(): Promise<void>;
  /** Removes what dead processes left half written. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** `waiting`: not yet allowed. `queued`: its turn has not come. The last three are ends and never change again. */
export const RUN_STATES = [
  'waiting',
  'queued',
  'preparing',
  'running',
  'collecting',
  'success',
  'failed',
  'timeout',
] as const;
export type RunState = (typeof RUN_STATES)[number];

export type Artifact = { path: string; bytes: number; sha256: string };

/** `full`: answered when it would survive a crash of the machine. `later`: the next full write carries it to the disk. */
export type Durability = 'full' | 'later';

/** One run as it is stored. JSON all through, so that every store holds it alike. */
export type RunRecord = {
  id: string;
  /** Whose it is; null on a machine of one's own. */
  tenant: string | null;
  /** Who asked for it. */
  by: Actor;
  /** Counted up each time it goes back to the queue: a writer with an older one has lost the run. */
  attempt: number;
  state: RunState;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  skill: { name: string; version: string | null; digest: string; dialect: string };
  /** What was called: `main`, a tool's or a script's name. */
  target: string;
  /** Who runs it: see sandbox/owner. A run whose owner is dead was interrupted. */
  owner: string;
  sandbox: { driver: string; enforces: Record<string, string>; runtime: string | null } | null;
  /** How it ended, as X-13 names it; null before. */
  ending: JsonValue;
  exitCode: number | null;
  output: JsonValue;
  error: { code: string; message: string } | null;
  warnings: string[];
  /** What policy said; null for runs that are older than policy. */
  decision: RunDecision | null;
  /** What a person answered; null where nobody had to be asked, or nobody has answered yet. */
  approval: RunApproval | null;
  /** While it waits for a person or for its turn, and until it has begun: what it takes to start it. */
  waiting: WaitingRun | null;
  artifacts: Artifact[];
  /** The artifacts as one tar.gz; null when there are none. */
  archive: Blob | null;
  usage: { cpuMs: number; maxMemoryBytes: number } | null;
  logBytes: number;
};

/** Every change is written together with the events that tell of it: both are there, or neither. */
export type RunDecision = {
  verdict: string;
  trust: string;
  rule: { source: string; index: number; name: string };
  reasons: string[];
};

export type RunApproval = { answer: string; channel: string; by: string; at: number };

/** The whole request, so that the run can be started by another process, hours later. */
export type WaitingRun = {
  expiresAt: number;
  /** Where the skill lay, and what its folder was called. */
  origin: { kind: 'directory' | 'archive'; path: string } | { kind: 'registry'; path: string; publisher: string };
  folderName: string | null;
  call: JsonObject;
  env: Record<string, string>;
  workspace: string | null;
  timeoutMs: number | null;
  /** Those that the caller gave; absent when none. */
  capabilities?: string[];
  /** Real paths of the host that the caller gave; absent when none. */
  paths?: { path: string; writable: boolean }[];
  /** Where the caller stood: the policy of that project holds for the run. */
  askedIn: string | null;
  /** What it was planned for: in another sandbox it would be another run. Absent in those that were recorded before that was kept. */
  sandbox?: string;
  /** What was asked, as one digest: what is started must have the same. */
  callKey: string;
  locks: string[];
};

/** What it takes of its tenant's storage: what it left, and before it begins what it was asked to do. */
export function keptBytes({ artifacts, archive, logBytes, state, waiting }: RunRecord): number {
  const isHeld = waiting !== null && (state === 'waiting' || state === 'queued');
  const held = isHeld ? Buffer.byteLength(JSON.stringify(waiting.call ?? null)) : 0;
  return artifacts.reduce((sum, { bytes }) => sum + bytes, 0) + (archive?.bytes ?? 0) + logBytes + held;
}

/** Part of a list: everything after this one. */
export type RunCursor = { createdAt: number; id: string };

export type RunQuery = {
  /** null: in any. */
  states: readonly RunState[] | null;
  skill: string | null;
  since: number | null;
  limit: number;
  after: RunCursor | null;
};

/** What belongs to a tenant is found with the tenant only: null is the machine's own user, never everybody. */
export interface RunRecords {
  /** Flushed to the disk unless it may come there later, with the next write that is. */
  insert(run: RunRecord, events: readonly AuditEvent[], durability?: Durability): Promise<void>;
  /**
   * Replaces the record. False when it is in an end state already, which is never overwritten, or goes on under another
   * attempt: then nothing is told. An end is flushed; what is on the way may come to the disk later.
   */
  update(run: RunRecord, events: readonly AuditEvent[], durability?: Durability): Promise<boolean>;
  /** Replaces the record of a run that waits; false when it waits no more, because somebody else has settled it. */
  settle(run: RunRecord, events: readonly AuditEvent[]): Promise<boolean>;
  get(tenant: string | null, id: string): Promise<RunRecord | null>;
  /** Newest first, and without their outputs: a skill may write megabytes, and there may be thousands of runs. */
  list(tenant: string | null, query: RunQuery): Promise<RunRecord[]>;
  /** Ids that start with the text, for people who type only the beginning of one. */
  find(tenant: string | null, prefix: string): Promise<string[]>;
  /** False when there is no such run, or it has ended. */
  requestCancel(tenant: string | null, id: string, events: readonly AuditEvent[]): Promise<boolean>;
  isCancelRequested(id: string): Promise<boolean>;
  /** For whoever keeps the house, not for callers: runs in these states, whosever they are, as `list` gives them. */
  listOfAllTenants(states: readonly RunState[], limit: number): Promise<RunRecord[]>;
  /** Runs that have ended and were made before, the oldest first, at most so many; their ids. */
  listOldOfAllTenants(madeBefore: number, limit: number): Promise<string[]>;
  /** Of runs that have ended and were made before, those that still keep a log or artifacts; by id, those after `after`. */
  listKeepingOfAllTenants(madeBefore: number, after: string | null, limit: number): Promise<RunRecord[]>;
  /** What runs that have ended keep no longer; that they ran, and how they ended, stays. */
  forgetOfAllTenants(ids: readonly string[], what: 'log' | 'artifacts'): Promise<void>;
  /** Forgets runs altogether, as far as they have ended. */
  removeOfAllTenants(ids: readonly string[]): Promise<void>;
  /** Every blob that some run names, as they are at this moment; one may come several times. */
  blobsOfAllTenants(): AsyncIterable<string>;
}

export function isEnded(state: RunState): boolean {
  return state === 'success' || state === 'failed' || state === 'timeout';
}
