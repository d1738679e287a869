import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../src/base/index.ts';
import { type Call, invokeSkill, readSkill } from '../src/dialects/index.ts';
import { DIALECTS, hasErrors, openDirectory } from '../src/skill/index.ts';

const root = join(import.meta.dirname, '../conformance');

/** What conformance/README.md describes. */
type Expectation = {
  requirements: string[];
  about: string;
  read: { dialect: string | null; loads: boolean; ok: boolean; name: string | null; version: string | null };
  skill?: Record<string, unknown>;
  diagnostics: { code: string; severity: string; file: string; line: number }[];
  invoke?: { call: Partial<Call>; expect: Record<string, unknown> }[];
};

const EMPTY_CALL: Call = { target: { kind: 'main' }, input: null, stdin: null, mode: 'Global', callerEnv: {} };

describe.each(DIALECTS)('conformance of %s', dialect => {
  const cases = readdirSync(join(root, dialect)).sort();

  test('has at least 25 cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(25);
  });

  test.each(cases)('%s', name => {
    const expected = JSON.parse(readFileSync(join(root, dialect, name, 'expect.json'), 'utf8')) as Expectation;
    const folder = openDirectory(join(root, dialect, name, 'skill'));
    const { skill, ...reading } = readSkill(folder, { mode: 'strict', dialect: null });
    const diagnostics = reading.diagnostics.map(({ code, severity, file, line }) => ({ code, severity, file, line }));
    expect(diagnostics).toEqual(expected.diagnostics);
    expect({
      dialect: reading.dialect,
      loads: skill !== null,
      ok: !hasErrors(reading.diagnostics),
      name: skill?.name ?? null,
      version: skill?.version ?? null,
    }).toEqual(expected.read);
    if (expected.skill !== undefined) expect(plain(skill)).toMatchObject(expected.skill);
    for (const { call, expect: wanted } of expected.invoke ?? []) {
      if (skill === null) throw new Error('a skill that does not load cannot be invoked');
      expect(invoke(() => invokeSkill(skill, { ...EMPTY_CALL, ...call }))).toMatchObject(wanted);
    }
  });
});

function invoke(start: () => unknown): unknown {
  try {
    return plain(start());
  } catch (error) {
    if (error instanceof SkillboxError) return { error: error.code };
    throw error;
  }
}

/** Through JSON: objects without prototype compare as plain ones. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
