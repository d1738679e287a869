import type { AuditEvent } from '../audit/index.ts';
import type { RunRecord } from './store.ts';

/** An answer as it is kept. The fields beside `body` are there to be found by; `mac` vouches for all of them. */
export type AnswerRow = {
  id: string;
  binding: string;
  refusal: string;
  origin: string;
  createdAt: number;
  body: string;
  mac: string;
};

/** One for all answers together. Its version counts the changes. */
export type SealRow = { version: number; body: string; mac: string };

/** `insert`: the run is new. `settle`: it waited, and does so no more. */
export type RunChange = { kind: 'insert' | 'settle'; record: RunRecord };

export type AnswerChange = {
  /** A row with the id of another replaces it. */
  rows: readonly AnswerRow[];
  /** Takes the place of the one before it, whose version must be one less. */
  seal: SealRow;
  run: RunChange | null;
  events: readonly AuditEvent[];
};

/** `stale`: another seal came first. `settled`: the run waits no more. In both cases nothing was written. */
export type Written = 'written' | 'stale' | 'settled';

/** How the text of an answer says which it is: as it stands in JSON it is in no other member of it. */
export const ALWAYS = '"answer":"always"';
export const STANDING: readonly string[] = [ALWAYS, '"answer":"deny-always"'];

/** Where answers are kept. Lists are newest first. */
export interface AnswerRows {
  /** The last ones; those that say "always" come first. */
  byBinding(binding: string): Promise<AnswerRow[]>;
  byOrigin(origin: string): Promise<AnswerRow[]>;
  byIds(ids: readonly string[]): Promise<AnswerRow[]>;
  list(limit: number): Promise<AnswerRow[]>;
  /** All that outlast the run that asked, by what their text says: "always" and "deny always". */
  standing(): Promise<AnswerRow[]>;
  /** Asked before every run: whether there is any. */
  isEmpty(): Promise<boolean>;
  seal(): Promise<SealRow | null>;
  /** All of it or nothing. */
  write(change: AnswerChange): Promise<Written>;
  clear(events: readonly AuditEvent[]): Promise<void>;
}
