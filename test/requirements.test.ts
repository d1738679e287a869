import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DIALECTS } from '../src/skill/index.ts';

const root = join(import.meta.dirname, '../conformance');
const PARTS = ['read', 'run', 'catalog', 'agents', 'policy', 'secrets', 'server'];
/** How many rules each family has; the numbers run without a gap. */
const FAMILIES = { X: 14, AS: 14, SB: 14, WS: 10, GB: 21, SK: 16 };
const ALL = Object.entries(FAMILIES).flatMap(([family, count]) => {
  return Array.from({ length: count }, (_, index) => `${family}-${String(index + 1).padStart(2, '0')}`);
});

/** `GB-09`, and in titles also `GB-06/07`. */
const ID = /\b(X|AS|SB|WS|GB|SK)-(\d\d(?:\/\d\d)*)(?!\d)/g;
/** A title: the text that `test`, `describe` or the call behind their `.each(…)` starts with, before a function. */
const TITLE =
  /(?:\b(?:test|describe|it)(?:\.\w+)*|\))\(\s*(?:'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`)\s*,\s*(?:async\b|\(|\w+ =>|\{)/g;

type Case = { path: string; requirements: string[]; about: string };

const requirements = JSON.parse(readFileSync(join(root, 'requirements.json'), 'utf8')) as Record<
  string,
  { rule: string; part: string }
>;
const cases = DIALECTS.flatMap(dialect => readdirSync(join(root, dialect)).map(name => readCase(`${dialect}/${name}`)));
const titles = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  // Without this file, whose examples of titles prove nothing.
  .filter(file => (file.endsWith('.test.ts') || file.startsWith('contracts/')) && file !== 'requirements.test.ts')
  .flatMap(file => titlesOf(readFileSync(join(import.meta.dirname, file), 'utf8')).map(title => ({ file, title })));

function readCase(path: string): Case {
  const { requirements: ids, about } = JSON.parse(readFileSync(join(root, path, 'expect.json'), 'utf8')) as Case;
  return { path, requirements: ids, about };
}

function titlesOf(source: string): string[] {
  return Array.from(source.matchAll(TITLE), match => match[1] ?? match[2] ?? match[3] ?? '');
}

function idsIn(text: string): string[] {
  return Array.from(text.matchAll(ID)).flatMap(([, family, numbers = '']) => {
    return numbers.split('/').map(number => `${family}-${number}`);
  });
}

describe('requirements', () => {
  test('are all in the data, each with its rule and the part that proves it', () => {
    const known = Object.keys(requirements);
    expect(ALL).toHaveLength(89);
    expect({
      missing: ALL.filter(id => !known.includes(id)),
      unknown: known.filter(id => !ALL.includes(id)),
      incomplete: known.filter(id => !requirements[id]?.rule || !PARTS.includes(requirements[id].part)),
    }).toEqual({ missing: [], unknown: [], incomplete: [] });
  });

  test('are each cited by a conformance case or by the title of a test', () => {
    const cited = new Set([...cases.flatMap(one => one.requirements), ...titles.flatMap(one => idsIn(one.title))]);
    const unproved = ALL.filter(id => !cited.has(id));
    expect(unproved, `nothing proves ${unproved.join(', ')}`).toEqual([]);
  });

  test('that are cited exist', () => {
    const wrong = [
      ...cases.flatMap(({ path, requirements: ids }) => ids.map(id => ({ id, where: `conformance/${path}` }))),
      ...titles.flatMap(({ file, title }) => idsIn(title).map(id => ({ id, where: `test/${file}` }))),
    ].filter(({ id }) => !(id in requirements));
    expect(wrong.map(({ id, where }) => `${where} cites ${id}`)).toEqual([]);
  });
});

describe('conformance cases', () => {
  test('each say which rules they are about, in one sentence', () => {
    const silent = cases.filter(one => one.requirements.length === 0 || !/^[\p{L}\p{N}].*\.$/u.test(one.about));
    expect(silent.map(one => one.path)).toEqual([]);
  });

  test('each cite a rule once', () => {
    const twice = cases.filter(one => new Set(one.requirements).size !== one.requirements.length);
    expect(twice.map(one => one.path)).toEqual([]);
  });

  test('are a skill and its expectation, under a name that tells the rule', () => {
    const odd = cases.filter(({ path }) => {
      const entries = readdirSync(join(root, path)).sort().join(' ');
      return entries !== 'expect.json skill' || !/^[a-z-]+\/[a-z0-9]+(?:-[a-z0-9]+)*$/.test(path);
    });
    expect(odd.map(one => one.path)).toEqual([]);
  });
});

test('the titles of tests are found, whatever form they have', () => {
  const source = [
    "test('X-01 one', () => {});",
    'describe("AS-02 two", () => {});',
    'test.each([1])(`GB-06/07 %s`, async n => {});',
    "test.skipIf(no)('SK-01 four', { timeout: 1 }, () => {});",
    "expect(read('WS-09')).toBe(1);",
  ].join('\n');
  expect(titlesOf(source).flatMap(idsIn)).toEqual(['X-01', 'AS-02', 'GB-06', 'GB-07', 'SK-01']);
});
