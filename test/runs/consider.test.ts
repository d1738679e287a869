import { expect, test } from 'vitest';
import { bindingKey } from '../../src/approvals/index.ts';
import type { Request } from '../../src/policy/index.ts';
import { boundTo } from '../../src/runs/consider.ts';
import type { Planned } from '../../src/runs/plan.ts';

const ASKED: Request = {
  trust: 'user',
  dialect: 'skillbox',
  skill: { name: 'a', version: null, digest: 'sb1-sha256:0' },
  publisher: null,
  target: { kind: 'main', name: 'main' },
  readOnly: false,
  alwaysAsk: false,
  grant: { network: { kind: 'none' }, secrets: [], workspace: null, paths: [], isolated: true },
};

test('an answer for one image is none for another, nor for the machine itself', () => {
  const keyOf = (image: string | null, standIn: Planned['standIn']) => {
    const snapshot = { path: '/a', digest: 'sb1-sha256:0', entries: [] };
    const planned: Partial<Planned> = { snapshot, image, standIn, meaning: null, layers: [] };
    return bindingKey(boundTo(ASKED, planned as Planned));
  };
  const standIn = (digest: string) => ({ name: 'some', digest });
  const keys = [keyOf(null, null), keyOf(null, standIn('a')), keyOf(null, standIn('b')), keyOf('c', null)];
  expect(new Set(keys).size).toBe(keys.length);
  expect(keyOf('c', standIn('a'))).toBe(keyOf('c', null)); // it has its own image, and nothing stands in
});
