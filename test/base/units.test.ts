import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCpu, parseDuration, parseSize, renderDuration, renderSize } from '../../src/base/index.ts';

describe('X-09 durations', () => {
  test.each([
    ['60s', 60_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['250ms', 250],
    ['90', 90_000],
    ['1.5s', 1500],
    [' 10s ', 10_000],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([
    '',
    '-1',
    '0',
    '0s',
    'NaN',
    'Infinity',
    '1e9h',
    '10 minutes',
    '5d',
    '5M',
    '0x10',
    '1s2',
    '٣s',
    '9'.repeat(40),
  ])('%j is not a duration', text => {
    expect(parseDuration(text)).toBeNull();
  });
});

describe('X-09 sizes', () => {
  test.each([
    ['128Mi', 128 * 1024 ** 2],
    ['1Gi', 1024 ** 3],
    ['512m', 512 * 1024 ** 2],
    ['1g', 1024 ** 3],
    ['1GB', 1000 ** 3],
    ['100', 100],
    ['64k', 65_536],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each(['', '-1Mi', '0', '1Ti', 'Mi', '1 0Mi', '1,5Gi'])('%j is not a size', text => {
    expect(parseSize(text)).toBeNull();
  });
});

describe('X-09 cpu', () => {
  test.each([
    ['0.5', 0.5],
    ['2', 2],
    ['500m', 0.5],
    ['1.25', 1.25],
  ])('%s is %d cpus', (text, cpus) => {
    expect(parseCpu(text)).toBe(cpus);
  });

  test.each(['0x10', '-1', '0', '1e3', '', 'all', '500k'])('%j is not a share', text => {
    expect(parseCpu(text)).toBeNull();
  });
});

test('X-09 whatever is not understood is null, never unlimited', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      for (const parse of [parseDuration, parseSize, parseCpu]) {
        const value = parse(text);
        expect(value === null || (Number.isFinite(value) && value > 0)).toBe(true);
      }
    }),
  );
});

test('values are shown in units that people write', () => {
  expect([1, 1500, 60_000, 5_400_000, 3_600_000].map(renderDuration)).toEqual(['1ms', '1.5s', '1m', '90m', '1h']);
  expect([12, 2048, 128 * 1024 ** 2, 1024 ** 3].map(renderSize)).toEqual(['12 B', '2 KiB', '128 MiB', '1 GiB']);
});
