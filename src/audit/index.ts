/** An append-only, hash-chained journal of everything that happened. */
export type { AuditEvent, Journal } from './event.ts';
