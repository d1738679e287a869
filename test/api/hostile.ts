import * as fc from 'fast-check';
import type { ApiDocument } from '../../src/api/document.ts';
import { type Documented, type Fixture, operationsOf, type Stage, whole } from './operations.ts';

type Schema = {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
};

const ODD_TEXT = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '..',
    '.',
    '%2e%2e',
    '../../etc/passwd',
    '\0',
    '\ud800',
    '__proto__',
    'constructor',
    'null',
    "' OR 1=1 --",
  ),
  fc.constantFrom(
    'a'.repeat(300),
    '%s%n%x',
    '<script>alert(1)</script>',
    '1e999',
    '-0',
    '9007199254740993',
    'latest',
    'hello',
  ),
);
const ODD_VALUE = fc.oneof(
  ODD_TEXT,
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, 2 ** 53, [], {}, [[[]]], { a: { b: {} } }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Mostly what the schema wants, and now and then something else. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const plain = plainOf(schema);
  return fc.oneof({ arbitrary: plain, weight: 5 }, { arbitrary: ODD_VALUE, weight: 1 });
}

function plainOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const [type] = [schema.type ?? []].flat();
  if (type === 'integer' || type === 'number') {
    const min = schema.minimum ?? -1000;
    return fc.integer({ min, max: Math.min(schema.maximum ?? min + 2000, 2 ** 31 - 1) });
  }
  if (type === 'boolean') return fc.boolean();
  if (type === 'array') return fc.array(fitting(schema.items ?? {}), { maxLength: 3 });
  if (type === 'object') {
    const named = Object.entries(schema.properties ?? {}).map(([name, each]) => [name, fitting(each)] as const);
    const required = schema.required ?? [];
    return fc
      .record(Object.fromEntries(named), { requiredKeys: required.filter(name => named.some(([own]) => own === name)) })
      .chain(value =>
        fc.oneof(
          { arbitrary: fc.constant(value), weight: 6 },
          { arbitrary: fc.constant({ ...value, odd: 1 }), weight: 1 },
        ),
      );
  }
  if (type === 'string')
    return fc.oneof(fc.constantFrom('hello', '1.0.0', 'read', 'once', '2026-01-01T00:00:00Z'), ODD_TEXT);
  return ODD_VALUE;
}

const known = (its: Fixture): fc.Arbitrary<string> =>
  fc.constantFrom(
    its.ended,
    its.waiting,
    its.running,
    its.answer,
    its.key,
    its.tenant,
    'hello',
    'latest',
    '1.0.0',
    'SKILL.md',
  );

export type Shot = { url: string; method: string; headers: Record<string, string>; payload?: string };

function shotAt({ method, path, operation }: Documented, document: ApiDocument, its: Fixture): fc.Arbitrary<Shot> {
  const parameters = operation.parameters ?? [];
  const parts = path.match(/\{(\w+)\}/g)?.length ?? 0;
  const fill = fc.array(fc.oneof({ arbitrary: known(its), weight: 4 }, { arbitrary: ODD_TEXT, weight: 1 }), {
    minLength: parts,
    maxLength: parts,
  });
  const query = fc.record(
    Object.fromEntries(
      parameters.filter(each => each.in === 'query').map(each => [each.name, fitting((each.schema ?? {}) as Schema)]),
    ),
    { requiredKeys: [] },
  );
  const headers = fc.record(
    Object.fromEntries(
      parameters.filter(each => each.in === 'header').map(each => [each.name, fc.string({ unit: 'grapheme-ascii' })]),
    ),
    { requiredKeys: [] },
  );
  const types = Object.keys(operation.requestBody?.content ?? {});
  const schema = whole(document, operation.requestBody?.content['application/json']?.schema ?? {}) as Schema;
  const payload =
    types.length === 0
      ? fc.constant(undefined)
      : fc.oneof(
          { arbitrary: fitting(schema).map(each => JSON.stringify(each)), weight: 5 },
          { arbitrary: fc.string(), weight: 1 },
        );
  const type = fc.constantFrom(...(types.length === 0 ? ['application/json'] : types), 'application/json');
  return fc.tuple(fill, query, headers, payload, type).map(([words, asked, sent, text, kind]) => {
    let at = 0;
    const target = path.replace(/\{\w+\}/g, () => encodeURIComponent((words[at++] ?? '').toWellFormed()));
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(asked))
      search.append(name, typeof value === 'string' ? value.toWellFormed() : (JSON.stringify(value) ?? ''));
    return {
      url: search.size === 0 ? target : `${target}?${search.toString()}`,
      method,
      headers: { ...sent, ...(text === undefined ? {} : { 'content-type': kind }) },
      ...(text === undefined ? {} : { payload: text }),
    };
  });
}

const MAY_FAIL = [503, 507];

/** Drives every route of the document with what mostly fits; counts how it was answered. */
export async function hostileRequests(
  document: ApiDocument,
  its: Fixture,
  shots: number,
  send: (shot: Shot) => ReturnType<Stage['inject']>,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  for (const each of operationsOf(document)) {
    const documented = Object.keys(each.operation.responses ?? {}).map(Number);
    await fc.assert(
      fc.asyncProperty(shotAt(each, document, its), async shot => {
        const answer = await send(shot);
        const { statusCode: status } = answer;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status >= 500 && !MAY_FAIL.includes(status)) throw new Error(`${status} ${answer.body}`);
        // A word in the path may make it the path of another route, or of none.
        if (![...documented, 404, 405, 413, 415].includes(status) && !each.path.includes('{'))
          throw new Error(`${status} is not documented: ${answer.body}`);
        const fields = status >= 400 ? Object.keys(answer.json()).join() : FIELDS;
        if (fields !== FIELDS) throw new Error(`an error of another form: ${answer.body}`);
      }),
      { numRuns: shots },
    );
  }
  return statuses;
}

const FIELDS = 'error,message,hint,details,request_id';
