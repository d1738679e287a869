import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSkill } from '../../src/dialects/index.ts';
import { DIALECTS, hasErrors, openDirectory } from '../../src/skill/index.ts';

const root = join(import.meta.dirname, '../../conformance');
const cases = DIALECTS.flatMap(dialect => readdirSync(join(root, dialect)).map(name => `${dialect}/${name}`));

type Expectation = { read: { loads: boolean } };

test.each(cases)('X-05/X-06 %s loads leniently, or an error says why not', path => {
  const expected = JSON.parse(readFileSync(join(root, path, 'expect.json'), 'utf8')) as Expectation;
  const folder = openDirectory(join(root, path, 'skill'));
  const strict = readSkill(folder, { mode: 'strict', dialect: null });
  const lenient = readSkill(folder, { mode: 'lenient', dialect: null });
  expect(lenient.skill !== null).toBe(expected.read.loads);
  expect(hasErrors(lenient.diagnostics)).toBe(!expected.read.loads);
  // The mode decides how severe a finding is, never what is understood.
  expect(lenient.skill).toEqual(strict.skill);
  expect(lenient.diagnostics.map(finding => finding.code)).toEqual(strict.diagnostics.map(finding => finding.code));
});
