import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiDocument } from '../../src/api/document.ts';
import { type Documented, type Fixture, furnish, GOOD, operationsOf, whole } from './operations.ts';
import { as } from './support.ts';
import { type Served, serveWorld } from './world.ts';

let served: Served;
let operations: Documented[];
let document: ApiDocument;
let its: Fixture;
beforeAll(async () => {
  served = await serveWorld({ syncWaitMs: 1, maxUploadBytes: 10_000 });
  document = (await served.server.inject('/openapi.json')).json();
  operations = operationsOf(document);
  its = await furnish(served.server, served.world, 'acme');
});
afterAll(() => served.server.close());

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

const known = (): fc.Arbitrary<string> =>
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

type Shot = { url: string; method: string; headers: Record<string, string>; payload?: string };

function shotAt({ method, path, operation }: Documented): fc.Arbitrary<Shot> {
  const parameters = operation.parameters ?? [];
  const parts = path.match(/\{(\w+)\}/g)?.length ?? 0;
  const fill = fc.array(fc.oneof({ arbitrary: known(), weight: 4 }, { arbitrary: ODD_TEXT, weight: 1 }), {
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
      headers: { ...as('all'), ...sent, ...(text === undefined ? {} : { 'content-type': kind }) },
      ...(text === undefined ? {} : { payload: text }),
    };
  });
}

const MAY_FAIL = [503, 507];

describe('hostile requests, made from the document', () => {
  it('never find a fault of ours, and are answered as documented or as the framework of all routes says', async () => {
    const statuses = new Map<number, number>();
    for (const each of operations) {
      const documented = Object.keys(each.operation.responses ?? {}).map(Number);
      await fc.assert(
        fc.asyncProperty(shotAt(each), async shot => {
          const { payload, ...rest } = shot;
          const answer = await served.server.inject({
            ...rest,
            method: rest.method as 'GET',
            ...(payload === undefined ? {} : { payload }),
          });
          const { statusCode: status } = answer;
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status >= 500 && !MAY_FAIL.includes(status)) throw new Error(`${status} ${answer.body}`);
          // A word in the path may make it the path of another route, or of none.
          expect([...documented, 404, 405, 413, 415].includes(status) || each.path.includes('{')).toBe(true);
          if (status >= 400)
            expect(Object.keys(answer.json())).toEqual(['error', 'message', 'hint', 'details', 'request_id']);
        }),
        { numRuns: 40 },
      );
    }
    // It is no test of refusals alone.
    expect([200, 400, 404].every(status => (statuses.get(status) ?? 0) > 20)).toBe(true);
  }, 120_000);

  it('no secret that is sent comes back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 12, unit: 'grapheme-ascii' }), ODD_TEXT, async (secret, name) => {
        const answer = await served.server.inject({
          method: 'PUT',
          url: `/v1/secrets/${encodeURIComponent(name.toWellFormed())}`,
          payload: { value: `s3cr3t-${secret}`, hosts: 5 },
          headers: as('secrets'),
        });
        expect(answer.statusCode).toBeGreaterThanOrEqual(400);
        expect(answer.body.includes('s3cr3t-')).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it('names of every operation are those of the table', () => {
    expect(operations.map(({ id }) => id).sort()).toEqual(Object.keys(GOOD).sort());
  });
});
