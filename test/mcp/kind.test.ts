import { classifyInboundRequest } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindOf } from '../../src/mcp/kind.ts';

const META = 'io.modelcontextprotocol/';
const envelope = {
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientInfo`]: { name: 'c', version: '1' },
  [`${META}clientCapabilities`]: {},
};
const missing = Symbol('missing');
const part = (...values: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 18, arbitrary: fc.constantFrom(...values) },
    { weight: 1, arbitrary: fc.constant(missing) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
const params = fc.oneof(
  part({}, { name: 'x', arguments: {} }),
  fc.record({ name: fc.string(), _meta: part({}, envelope, { progressToken: 1 }, null, undefined) }),
);
const bodies = fc.oneof(
  { weight: 1, arbitrary: fc.jsonValue() as fc.Arbitrary<unknown> },
  {
    weight: 9,
    arbitrary: fc
      .record({
        jsonrpc: part('2.0', '2.0', '2.0', '1.0'),
        id: part(1, 'one', 1.5, -1, 2 ** 53, null),
        method: part('tools/call', 'tools/list', 'initialize', 'no/such', ''),
        params,
        result: fc.constantFrom<unknown>(missing, missing, missing, missing, {}),
      })
      .map(parts => Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== missing))),
  },
);
const versions = fc.constantFrom(
  undefined,
  '2025-11-25',
  '2025-03-26',
  '2026-07-28',
  '2027-01-01',
  '1999-01-01',
  'x',
  '',
);
const others = fc.constantFrom(undefined, 'tools/call', 'x');

test('what a request is, is told as the SDK tells it', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(bodies, versions, others, others, (body, version, method, name) => {
      const given = { 'mcp-protocol-version': version, 'mcp-method': method, 'mcp-name': name };
      const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const found = classifyInboundRequest({
        httpMethod: 'POST',
        ...(version === undefined ? {} : { protocolVersionHeader: version }),
        ...(method === undefined ? {} : { mcpMethodHeader: method }),
        ...(name === undefined ? {} : { mcpNameHeader: name }),
        body,
      });
      const expected = found.kind !== 'legacy' ? 'modern' : found.reason === 'no-claim' ? 'request' : 'session';
      seen.add(expected);
      expect(kindOf({ method: 'POST', headers }, body)).toBe(expected);
    }),
    { numRuns: 5000 },
  );
  expect([...seen].sort()).toEqual(['modern', 'request', 'session']);
});

test('what has no body, or is not posted, belongs to a session', () => {
  expect(kindOf({ method: 'POST', headers: {} }, undefined)).toBe('session');
  expect(kindOf({ method: 'GET', headers: {} }, undefined)).toBe('session');
  expect(kindOf({ method: 'DELETE', headers: { 'mcp-protocol-version': '2026-07-28' } }, undefined)).toBe('session');
});
