import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS, resolveLimits } from '../../src/runs/limits.ts';

const { defaults, maxima } = DEFAULT_LIMITS;
const nothing = { timeoutMs: 120_000, memoryBytes: null, cpus: null };

describe('limits', () => {
  test('X-09 without a word from anybody the defaults hold', () => {
    expect(resolveLimits(nothing, 30_000, null, DEFAULT_LIMITS)).toEqual({
      limits: { ...defaults, timeMs: 30_000 },
      warnings: [],
    });
  });

  test("X-09 the caller's time counts before the skill's; cpu and memory are the skill's", () => {
    const needs = { timeoutMs: 60_000, memoryBytes: 1024 ** 3, cpus: 2 };
    const { limits } = resolveLimits(needs, 60_000, 5_000, DEFAULT_LIMITS);
    expect(limits).toEqual({ ...defaults, timeMs: 5_000, memoryBytes: 1024 ** 3, cpus: 2 });
  });

  test('X-09 nobody gets more than the maximum, and what was lowered is said', () => {
    const number = fc.double({ min: 1, max: 1e18, noNaN: true });
    fc.assert(
      fc.property(number, number, number, fc.option(number), (timeoutMs, memoryBytes, cpus, caller) => {
        const { limits, warnings } = resolveLimits({ timeoutMs, memoryBytes, cpus }, timeoutMs, caller, DEFAULT_LIMITS);
        for (const key of Object.keys(maxima) as (keyof typeof maxima)[])
          expect(limits[key]).toBeLessThanOrEqual(maxima[key]);
        const wanted = { timeMs: caller ?? timeoutMs, memoryBytes, cpus };
        for (const key of ['timeMs', 'memoryBytes', 'cpus'] as const)
          expect(warnings.some(text => text.startsWith(`${key} `))).toBe(wanted[key] > maxima[key]);
      }),
    );
  });

  test('the defaults are below the maxima', () => {
    for (const key of Object.keys(maxima) as (keyof typeof maxima)[])
      expect(defaults[key]).toBeLessThanOrEqual(maxima[key]);
  });
});
