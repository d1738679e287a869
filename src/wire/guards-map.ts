import type { AuditEntry, GivenAnswer } from '../service/index.ts';
import type { AuditEntryAnswer, GivenAnswerAnswer } from './guards.ts';
import { fromTime, fromTimeOrNull, toTime, toTimeOrNull } from './times.ts';

export const toGiven = (given: GivenAnswer): GivenAnswerAnswer => ({
  id: given.id,
  answer: given.answer,
  by: given.by,
  channel: given.channel,
  created_at: toTime(given.createdAt),
  expires_at: toTimeOrNull(given.expiresAt),
  revoked_at: toTimeOrNull(given.revokedAt),
  skill: given.skill,
  target: given.target,
});
export const fromGiven = (answer: GivenAnswerAnswer): GivenAnswer => ({
  id: answer.id,
  answer: answer.answer,
  by: answer.by,
  channel: answer.channel,
  createdAt: fromTime(answer.created_at),
  expiresAt: fromTimeOrNull(answer.expires_at),
  revokedAt: fromTimeOrNull(answer.revoked_at),
  skill: answer.skill,
  target: answer.target,
});

export const toEntry = (entry: AuditEntry): AuditEntryAnswer => ({ ...entry, time: toTime(entry.time) });
export const fromEntry = (answer: AuditEntryAnswer): AuditEntry => ({ ...answer, time: fromTime(answer.time) });
