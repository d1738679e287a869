import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findSkills } from '../src/catalog/index.ts';
import { readSkill } from '../src/dialects/index.ts';
import { DIALECTS, openDirectory } from '../src/skill/index.ts';

const root = join(import.meta.dirname, '../examples');

describe.each(DIALECTS)('examples of %s', dialect => {
  const names = readdirSync(join(root, dialect));

  test('there are at least two', () => {
    expect(names.length).toBeGreaterThanOrEqual(2);
  });

  test.each(names)('%s reads without a finding', name => {
    const reading = readSkill(openDirectory(join(root, dialect, name)), { mode: 'strict', dialect: null });
    expect(reading.diagnostics).toEqual([]);
    expect(reading.skill).toMatchObject({ dialect, name });
  });
});

test('X-01 finding and reading agree on what is a skill', () => {
  for (const path of findSkills(root)) {
    expect(readSkill(openDirectory(path), { mode: 'lenient', dialect: null }).skill, path).not.toBeNull();
  }
});
