import { expect, test } from 'vitest';
import { type Grant, leavesTraces } from '../../src/policy/index.ts';

const LEAST: Grant = { network: { kind: 'none' }, secrets: [], workspace: null, paths: [], isolated: true };

test('what can do nothing outside its sandbox leaves no traces: its record may reach the disk with its end', () => {
  expect(leavesTraces(LEAST)).toBe(false);
  expect(leavesTraces({ ...LEAST, workspace: { path: '/w', writable: false } })).toBe(false);
  expect(leavesTraces({ ...LEAST, paths: [{ path: '/p', writable: false }] })).toBe(false);
});

test.each<[string, Partial<Grant>]>([
  ['a workspace to write', { workspace: { path: '/w', writable: true } }],
  ['a path to write', { paths: [{ path: '/p', writable: true }] }],
  ['the broker', { network: { kind: 'broker' } }],
  ['a host', { network: { kind: 'hosts', hosts: ['example.com'] } }],
  ['public addresses', { network: { kind: 'public' } }],
  ['a secret', { secrets: ['custom/key'] }],
  ['no isolation', { isolated: false }],
])('with %s it is on the disk before it starts', (_what, more) => {
  expect(leavesTraces({ ...LEAST, ...more })).toBe(true);
});
