import { describe, expect, test } from 'vitest';
import { atLeast, RULES } from '../../src/scan/index.ts';
import { tempDirectory } from '../temp.ts';
import { scanDirectory, writeSample } from './sample.ts';

const parent = tempDirectory();

describe('rules', () => {
  test('have ids of their own, and words for people', () => {
    expect(new Set(RULES.map(rule => rule.id)).size).toBe(RULES.length);
    for (const { id, title, why, fix } of RULES) {
      expect(id).toMatch(/^[a-z]+(?:-[a-z]+)*$/);
      expect([why.endsWith('.'), fix.endsWith('.'), title.endsWith('.')], id).toEqual([true, true, false]);
    }
  });

  test('have samples on both sides', () => {
    for (const { id, hits, misses } of RULES) expect([hits.length > 0, misses.length > 0], id).toEqual([true, true]);
  });
});

describe.each(RULES)('$id', ({ id, hits, misses }) => {
  test.each(hits.map((sample, at) => ({ at, sample })))('finds sample $at', ({ sample }) => {
    const found = scanDirectory(writeSample(parent, sample)).findings.filter(({ rule }) => rule === id);
    expect(found.length).toBeGreaterThan(0);
    expect(found.some(({ severity }) => severity !== 'info')).toBe(true);
  });

  test.each(misses.map((sample, at) => ({ at, sample })))('leaves sample $at alone', ({ sample }) => {
    const { findings } = scanDirectory(writeSample(parent, sample));
    expect(findings.filter(({ rule, severity }) => rule === id && atLeast(severity, 'medium'))).toEqual([]);
  });
});
