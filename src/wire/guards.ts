import { type Static, Type } from 'typebox';
import { AnyObject, Count, exactly, oneOf, orNull, pageOf, paging, Time } from './common.ts';
import { targetFields } from './execution.ts';

export const ANSWERS = ['once', 'always', 'deny', 'deny-always'] as const;
export const AnswerRequest = exactly({ answer: oneOf(ANSWERS) });
export const GivenAnswerAnswer = exactly({
  id: Type.String(),
  answer: oneOf(ANSWERS),
  by: Type.String(),
  channel: Type.String(),
  created_at: Time,
  expires_at: orNull(Time),
  revoked_at: orNull(Time),
  skill: exactly({ name: Type.String(), version: orNull(Type.String()), digest: Type.String() }),
  target: Type.String(),
});
export type GivenAnswerAnswer = Static<typeof GivenAnswerAnswer>;
export const GivenAnswerPage = pageOf(GivenAnswerAnswer);

export const CATALOG_FORMATS = ['xml', 'json', 'markdown', 'gibberish', 'openai', 'anthropic'] as const;
export const CatalogQuery = exactly({
  format: Type.Optional(oneOf(CATALOG_FORMATS)),
  budget: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'in tokens' })),
  q: Type.Optional(Type.String({ maxLength: 1024, description: 'only what fits this' })),
});
export const ActivationAnswer = exactly({
  name: Type.String(),
  version: Type.String(),
  digest: Type.String(),
  text: Type.String(),
  tokens: Count,
});

export const ExplainRequest = exactly({
  skill: Type.String({ minLength: 1, maxLength: 256 }),
  version: Type.Optional(orNull(Type.String({ maxLength: 256 }))),
  ...targetFields,
});

export const AuditQuery = exactly({
  type: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 100 })),
  subject: Type.Optional(Type.String({ maxLength: 512 })),
  since: Type.Optional(Time),
  ...paging(500),
});
export const AuditEntryAnswer = exactly({
  chain: Type.String(),
  seq: Count,
  time: Time,
  type: Type.String(),
  actor: exactly({ id: Type.String(), channel: Type.String() }),
  subject: orNull(Type.String()),
  data: AnyObject,
  prev: Type.String(),
  hash: Type.String(),
});
export type AuditEntryAnswer = Static<typeof AuditEntryAnswer>;
export const AuditPage = pageOf(AuditEntryAnswer);
export const VerifyAnswer = exactly({ ok: Type.Boolean(), entries: Count, wrong: orNull(AnyObject) });
