import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox';
import {
  AuditEntryAnswer,
  ErrorAnswer,
  ExecutionAnswer,
  ExecutionState,
  ExecutionSummary,
  GivenAnswerAnswer,
  KeyAnswer,
  LogAnswer,
  SecretAnswer,
  SkillAnswer,
  SkillDetailAnswer,
  TenantAnswer,
} from '../wire/index.ts';
import type { ApiServer } from './server.ts';

/** Answers that several routes give; the document has each once, by name. */
const COMPONENTS = {
  Error: ErrorAnswer,
  Execution: ExecutionAnswer,
  ExecutionState,
  ExecutionSummary,
  Log: LogAnswer,
  Skill: SkillAnswer,
  SkillDetail: SkillDetailAnswer,
  GivenAnswer: GivenAnswerAnswer,
  AuditEntry: AuditEntryAnswer,
  Key: KeyAnswer,
  Tenant: TenantAnswer,
  Secret: SecretAnswer,
} as const;
type Components = typeof COMPONENTS;

export function addComponents(server: ApiServer): void {
  for (const [name, schema] of Object.entries(COMPONENTS)) server.addSchema({ ...schema, $id: name });
}

export function component<N extends keyof Components>(name: N): TUnsafe<Static<Components[N]>> {
  return Type.Unsafe<Static<Components[N]>>({ $ref: `${name}#` });
}

export function pageOfComponent<N extends keyof Components>(
  name: N,
): TUnsafe<{ items: Static<Components[N]>[]; next: string | null }> {
  return Type.Unsafe({
    type: 'object',
    additionalProperties: false,
    required: ['items', 'next'],
    properties: {
      items: { type: 'array', items: { $ref: `${name}#` } },
      next: { type: ['string', 'null'], description: 'the `after` of the next part; null after the last' },
    },
  });
}

/** The parameters of a path whose last part may hold slashes; the router calls it `*`. */
export function withRest<T extends TProperties>(params: TObject<T>): TUnsafe<Static<TObject<T>> & { '*': string }> {
  return Type.Unsafe({ ...params, additionalProperties: true });
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'The request does not fit.',
  401: 'Who is calling is not known.',
  403: 'The caller may not.',
  404: 'There is no such thing, or it is not yours.',
  409: 'It does not fit with what is there.',
  413: 'It is too large.',
  415: 'This content type is not taken.',
  422: 'It is understood, and cannot be.',
  429: 'Too much at once; Retry-After says when to come back.',
  503: 'Something that the server needs does not answer.',
  507: 'There is no room for it.',
};

type Failures<S extends number> = { [K in S]: TUnsafe<Static<typeof ErrorAnswer>> };

/** The answers of a route that are no success: these, and those that every route has. */
export function failures<const S extends readonly number[]>(
  ...statuses: S
): Failures<S[number] | 400 | 401 | 403 | 429 | 503> {
  return refusals([400, 401, 403, ...statuses, 429, 503]) as Failures<S[number] | 400 | 401 | 403 | 429 | 503>;
}

/** The same for a route that anyone may call. */
export function openFailures<const S extends readonly number[]>(...statuses: S): Failures<S[number] | 400 | 429 | 503> {
  return refusals([400, ...statuses, 429, 503]) as Failures<S[number] | 400 | 429 | 503>;
}

function refusals(statuses: readonly number[]): object {
  const all = [...new Set(statuses)].sort((a, b) => a - b);
  return Object.fromEntries(all.map(status => [status, { ...component('Error'), description: REASONS[status] }]));
}

/** An answer that is no JSON. */
export function content(type: string, description: string): TSchema {
  const schema = type.startsWith('text/') ? { type: 'string' } : { type: 'string', contentMediaType: type };
  return { description, content: { [type]: { schema } } } as unknown as TSchema;
}

/** An answer without a body. */
export const NOTHING = Type.Unsafe<undefined>({ type: 'null', description: 'Done; there is nothing to say.' });
