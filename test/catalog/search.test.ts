import { expect, test } from 'vitest';
import { measureRecall } from '../../bench/recall.ts';
import { searchSkills } from '../../src/catalog/search.ts';

test('a query finds the skill that is meant among the first five, over the examples and conformance skills', () => {
  const { at1, at5, missed } = measureRecall();
  expect(missed).toEqual([]);
  expect(at5).toBe(1);
  expect(at1).toBeGreaterThan(0.8);
});

test('endings, beginnings and slips are found; words that say nothing find nothing', () => {
  const skills = [
    { name: 'counter', description: 'Counts words.' },
    { name: 'painter', description: 'Paints pictures of houses.' },
  ];
  const names = (query: string) => searchSkills(skills, query).map(({ name }) => name);
  expect(names('counting')).toEqual(['counter']);
  expect(names('pict')).toEqual(['painter']);
  expect(names('paintre')).toEqual(['painter']);
  expect(names('use when the user wants')).toEqual([]);
  expect(names('')).toEqual([]);
});

test('any text is a query', () => {
  for (const query of ['*', '"', '\\', '\u0000', '(((', 'a'.repeat(10_000)]) {
    expect(() => searchSkills([{ name: 'a', description: 'A.' }], query)).not.toThrow();
  }
});

test('a query of any length takes no more memory and time than one of some words', () => {
  const skills = [{ name: 'counter', description: 'Counts words.' }];
  const before = process.resourceUsage().maxRSS;
  expect(searchSkills(skills, 'r'.repeat(30_000))).toEqual([]);
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(128 * 1024);
  expect(searchSkills(skills, 'x'.repeat(5_000_000))).toEqual([]);
  expect(searchSkills(skills, 'words '.repeat(1_000_000))).toEqual(skills);
});
