import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS, SHIPPED } from '../../src/policy/index.ts';
import { WAITING_MS } from '../../src/runs/settle.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/approvals.md'), 'utf8');

test('docs/approvals.md says how long questions and answers last, as the code has it', () => {
  expect(text).toContain(`It waits for ${WAITING_MS / 3_600_000} hours`);
  expect(text).toContain(`for ${SHIPPED.alwaysMs / 86_400_000} days`);
});

test('docs/approvals.md names only channels that there are', () => {
  const table = text.slice(text.indexOf('| channel |'), text.indexOf('[policy.md](policy.md) says which'));
  const named = [...table.matchAll(/^\| (\w+) \| /gm)].map(match => match[1]).filter(name => name !== 'channel');
  expect(named).toEqual(['terminal', 'flag', 'elicitation']);
  expect(CHANNELS).toEqual(expect.arrayContaining(named));
});
