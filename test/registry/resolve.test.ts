import fc from 'fast-check';
import semver from 'semver';
import { describe, expect, test } from 'vitest';
import { isVersion, pickVersion, readsAsRange } from '../../src/registry/resolve.ts';

const part = fc.nat({ max: 3 });
const pre = fc.constantFrom('', '', '-alpha', '-alpha.1', '-beta.2', '-rc.1', '-0');
const build = fc.constantFrom('', '', '', '+b1', '+b2');
const version = fc.tuple(part, part, part, pre, build).map(([a, b, c, p, m]) => `${a}.${b}.${c}${p}${m}`);
const candidates = fc
  .uniqueArray(fc.record({ version, yanked: fc.boolean() }), { selector: one => one.version, maxLength: 12 })
  .map(list => list.map(one => ({ ...one, tags: [] as string[] })));
const range = fc.oneof(
  fc.tuple(fc.constantFrom('', '^', '~', '>=', '<', '>', '<=', '='), version).map(([sign, one]) => `${sign}${one}`),
  fc.tuple(part, part).map(([a, b]) => `${a}.${b}`),
  part.map(a => `${a}.x`),
  fc.constantFrom('*', 'x', '1 - 2', '>=1.0.0 <2.0.0', '^1 || ^3', '>=0.0.0-0', '<0.0.0'),
);
const nameOf = (choice: ReturnType<typeof pickVersion>) => (choice.kind === 'found' ? choice.one.version : null);

describe('SB-04 which version is meant', () => {
  test('a range means what semver says of those that are not yanked', () => {
    fc.assert(
      fc.property(candidates, range, (all, wanted) => {
        const offered = all.filter(one => !one.yanked).map(one => one.version);
        const exact = all.find(one => one.version === wanted);
        const isExact = semver.parse(wanted)?.raw === wanted;
        const expected = exact?.version ?? (isExact ? null : semver.maxSatisfying(offered, wanted));
        const found = nameOf(pickVersion(all, wanted));
        expect(found === null).toBe(expected === null);
        // Equal but for their build metadata: semver takes any of them, we always the same.
        if (found !== null && expected !== null) expect(semver.eq(found, expected)).toBe(true);
        if (found !== null) expect(nameOf(pickVersion(all.toReversed(), wanted))).toBe(found);
      }),
      { numRuns: 2000 },
    );
  });

  test('latest is the highest that is neither yanked nor a pre-release, unless there are only pre-releases', () => {
    fc.assert(
      fc.property(candidates, fc.constantFrom(null, '', 'latest'), (all, wanted) => {
        const found = nameOf(pickVersion(all, wanted));
        const offered = all.filter(one => !one.yanked).map(one => one.version);
        const stable = offered.filter(one => !one.split('+')[0]?.includes('-'));
        const among = stable.length > 0 ? stable : offered;
        if (among.length === 0) expect(found).toBeNull();
        else expect(among).toContain(found);
        for (const other of among) expect(semver.compareBuild(found ?? '', other)).toBeGreaterThanOrEqual(0);
        expect(nameOf(pickVersion(all.toReversed(), wanted))).toBe(found);
      }),
      { numRuns: 2000 },
    );
  });

  test('an exact version is that one or none: another build of it is another version', () => {
    const all = ['1.0.0+a', '1.0.0+b', '2.0.0'].map(each => ({ version: each, yanked: false, tags: [] }));
    expect(nameOf(pickVersion(all, '1.0.0+a'))).toBe('1.0.0+a');
    for (const wanted of ['1.0.0', '1.0.0+c', '2.0.0+a', '2.0.0-rc.1'])
      expect([wanted, pickVersion(all, wanted).kind]).toEqual([wanted, 'none']);
    expect(nameOf(pickVersion(all, '=1.0.0'))).toBe('1.0.0+b');
  });

  test('a yanked one is found by its exact version, and by nothing else', () => {
    const all = [
      { version: '1.0.0', yanked: false, tags: ['old'] },
      { version: '2.0.0', yanked: true, tags: ['stable'] },
    ];
    expect(nameOf(pickVersion(all, '2.0.0'))).toBe('2.0.0');
    for (const wanted of [null, 'latest', '*', '>=1']) expect(nameOf(pickVersion(all, wanted))).toBe('1.0.0');
    expect(pickVersion(all, '^2').kind).toBe('none');
    expect(pickVersion(all, 'stable').kind).toBe('yanked');
    expect(nameOf(pickVersion(all, 'old'))).toBe('1.0.0');
  });

  test('whatever is asked, there is an answer', () => {
    const all = [{ version: '1.0.0', yanked: false, tags: ['stable'] }];
    fc.assert(fc.property(fc.string({ unit: 'binary' }), wanted => void pickVersion(all, wanted)));
    for (const wanted of ['9'.repeat(300), '>'.repeat(200), '1 '.repeat(100), `${'*||'.repeat(80)}1`, '__proto__'])
      void pickVersion(all, wanted);
    expect([isVersion('9'.repeat(300)), readsAsRange('1 '.repeat(1e6))]).toEqual([false, false]);
  });
});
