import type { GivenAnswer } from '../approvals/index.ts';
import { type Actor, type AuditEvent, type Caller, type EventType, redactArgv } from '../audit/index.ts';
import type { JsonObject, JsonValue } from '../base/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { Considered } from './consider.ts';
import { localActor } from './events.ts';
import type { Reply } from './question.ts';

/** What the journal is told of judging and asking: who said what, through which channel, about exactly what. */

export function decidedEvent(record: RunRecord, { asked, decision, planned }: Considered): AuditEvent {
  const { verdict, rule, reasons } = decision;
  const { target } = asked;
  // A command is named by all of its words, and one of them may be a secret.
  const named = target.kind === 'command' ? { ...target, name: redactArgv(planned.spec.argv).join(' ') } : target;
  const request = { ...asked, target: named } as unknown as JsonValue; // plain data all through: see policy/policy
  return about('decision.made', callerOf(record), record.id, {
    verdict,
    rule: { ...rule },
    reasons: [...reasons],
    request,
  });
}

export function askedEvent(record: RunRecord, { callKey, planned }: Considered): AuditEvent {
  const preview = redactArgv(planned.spec.argv);
  return about('approval.asked', callerOf(record), record.id, { approval: record.id, binding: callKey, preview });
}

/** `kept` is null where the answer has no force beyond this run. */
export function givenEvent(record: RunRecord, reply: Reply, binding: string, kept: GivenAnswer | null): AuditEvent {
  return about('approval.given', { tenant: record.tenant, actor: actorOf(reply) }, record.id, {
    approval: kept?.id ?? null,
    binding: kept?.binding ?? binding,
    scope: reply.answer,
    expires: kept?.expiresAt ?? null,
  });
}

export function deniedEvent(record: RunRecord, reply: Reply, binding: string, kept: GivenAnswer | null): AuditEvent {
  return about('approval.denied', { tenant: record.tenant, actor: actorOf(reply) }, record.id, {
    approval: kept?.id ?? null,
    binding: kept?.refusal ?? binding,
    scope: reply.answer,
  });
}

export function expiredEvent({ id, tenant, waiting }: RunRecord): AuditEvent {
  return about('approval.expired', { tenant, actor: localActor() }, id, {
    approval: id,
    binding: waiting?.callKey ?? null,
  });
}

export function revokedEvent(by: Caller, { id, binding }: GivenAnswer): AuditEvent {
  return about('approval.revoked', by, id, { approval: id, binding });
}

export function resetEvent(by: Caller): AuditEvent {
  return about('approval.reset', by, null, {});
}

export function actorOf({ by, channel }: Pick<Reply, 'by' | 'channel'>): Actor {
  return { id: by, channel };
}

function callerOf({ tenant, by }: RunRecord): Caller {
  return { tenant, actor: by };
}

function about(type: EventType, { tenant, actor }: Caller, subject: string | null, data: JsonObject): AuditEvent {
  return { type, actor, tenant, subject, data };
}
