import type { AuditEvent } from '../../src/audit/index.ts';

/** An event of the least content. */
export function newEvent(changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    type: 'config.changed',
    actor: { id: 'uid:1000', channel: 'terminal' },
    tenant: null,
    subject: 'policy',
    data: { before: null, after: 'sha256:1' },
    ...changes,
  };
}
