/** An append-only, hash-chained journal of everything that happened: what an entry is, and how a chain is checked. */
export { type Audit, openAudit, type Verified } from './audit.ts';
export { canonicalJson } from './canonical.ts';
export type { Checkpoint } from './checkpoint.ts';
export {
  chainName,
  type Entry,
  FIRST_PREV,
  fromLine,
  type Head,
  MAX_BODY,
  openEntry,
  type Sealed,
  seal,
  toLine,
} from './entry.ts';
export type { Actor, AuditEvent, Caller, Journal } from './event.ts';
export {
  type EntryFilter,
  fits,
  type JournalStore,
  type KeptEntry,
  type Page,
  type Rotation,
  type Walked,
} from './journal.ts';
export { toOtel } from './otel.ts';
export { redactArgv, redactText } from './redact.ts';
export { EVENT_TYPES, type EventType } from './types.ts';
export { describeWrong, Verifier, type Wrong } from './verify.ts';
