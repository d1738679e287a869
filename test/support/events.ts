import type { AuditEvent } from '../../src/audit/index.ts';

/** Whoever writes events that only a test has. */
export const TESTER = { id: 'uid:test', channel: 'test' };

/** An event of the least content. */
export function newEvent(changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    type: 'config.changed',
    actor: TESTER,
    tenant: null,
    subject: 'policy',
    data: { before: null, after: 'sha256:1' },
    ...changes,
  };
}
