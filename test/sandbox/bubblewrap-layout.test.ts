import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { builtByBwrap, builtByLauncher, type Place } from '../../src/sandbox/bubblewrap-layout.ts';
import { findHelper, type Token } from '../../src/sandbox/helper.ts';
import { createKeepers } from '../../src/sandbox/keeper.ts';
import { startLauncher } from '../../src/sandbox/launcher.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const tree = (at: string): Place => ({
  kind: 'tree',
  at,
  source: `/host${at}`,
  writable: true,
  owner: 'map',
});

it('as root the launcher makes all of it, in its order, and bwrap binds it whole', () => {
  const { launch, bwrap } = builtByLauncher([
    tree('/work'),
    { kind: 'link', at: '/lib', target: 'usr/lib' },
    { kind: 'proc', at: '/proc' },
    { kind: 'text', at: '/work/deep/er', text: 'x' },
  ]);
  expect(launch.join(' ')).toBe(
    'stage empty root tree /host/work map rw root/work link usr/lib root/lib empty root/proc text x root/work/deep/er',
  );
  expect(bwrap).toEqual(['--dev-bind', '/tmp/root', '/', '--proc', '/proc', '--remount-ro', '/']);
});

it('as an ordinary user a text must have become a file', () => {
  expect(() => builtByBwrap([{ kind: 'text', at: '/x', text: '' }])).toThrow(/No file was made for \/x/);
});

const helper = findHelper();

describe.skipIf(helper === null || process.getuid?.() !== 0)('the launcher as root', () => {
  /** What it says when it is told to build this. */
  const built = async (tokens: Token[]): Promise<string | null> => {
    buildHelper();
    const keepers = createKeepers(tempDir('keepers'));
    const launcher = await startLauncher(keepers.of(helper ?? ''), async () => ['ids', 200_001, 200_001]);
    launcher.send(['stage', ...tokens, 'exec', '/nosuch/bwrap', 'arguments', '']);
    await launcher.gone;
    await keepers.close();
    return launcher.report.error;
  };
  /** It builds all before it looks for bwrap. */
  const WHOLE = 'start /nosuch/bwrap: No such file or directory';

  it('makes the way to a place', async () => {
    expect(
      await built(['empty', 'root/a/b/c', 'text', 'x', 'root/a/b/d', 'tree', '/usr', 'keep', 'ro', 'root/u/v']),
    ).toBe(WHOLE);
  });

  it('takes a device by the name that the host has for it, also a link, and nothing but a device', async () => {
    const link = join(tempDir('dev'), 'random');
    symlinkSync('/dev/urandom', link);
    expect(await built(['tree', link, 'keep', 'device', 'root/dev/random'])).toBe(WHOLE);
    expect(await built(['tree', '/usr', 'keep', 'device', 'root/dev/random'])).toMatch(/open .usr: /);
  });

  it.each<[string, (outside: string) => Token[], RegExp]>([
    ['a link that it made', outside => ['link', outside, 'root/a', 'empty', 'root/a/x'], /make root.a: /],
    [
      'a link in a tree',
      outside => ['tree', outside, 'keep', 'rw', 'root/a', 'empty', 'root/a/link/x'],
      /make root.a.link: /,
    ],
    ['dots', () => ['empty', 'root', 'empty', 'root/../../proc/x'], /ross-device link/],
    ['dots at the end', () => ['tree', '/usr', 'keep', 'ro', '..'], /make \.\.: Invalid/],
    ['a name that is empty', outside => ['empty', `root/${outside}/x`], /make : /],
    [
      'a link as the place itself',
      outside => ['tree', outside, 'map', 'rw', 'root/a', 'tree', '/usr', 'keep', 'ro', 'root/a/link'],
      /move link: /,
    ],
  ])('goes nowhere by %s', async (_, tokens, said) => {
    const outside = tempDir('outside');
    mkdirSync(join(outside, 'd'));
    symlinkSync('d', join(outside, 'link'));
    expect(await built(tokens(outside))).toMatch(said);
    expect([readdirSync(join(outside, 'd')), existsSync(join(outside, 'x'))]).toEqual([[], false]);
  });

  const INSIDE: Token[][] = [
    ['empty', 'root/a/x'],
    ['empty', 'root/a/x/y'],
    ['text', 'x', 'root/a/x'],
    ['link', 'x', 'root/a/x'],
    ['tree', '/usr', 'keep', 'ro', 'root/a/x'],
  ];

  it.each([
    ['ro', 'map'],
    ['rw', 'keep'],
  ])('makes nothing in a tree that the run could not write to (%s, %s)', async (access, owner) => {
    const outside = tempDir('outside', 0o755);
    for (const tokens of INSIDE)
      expect(await built(['tree', outside, owner, access, 'root/a', ...tokens])).toMatch(/^(make|link) x: /);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('makes a place in a tree as the run would, and puts there what is the run’s, not the tree’s', async () => {
    for (const tokens of INSIDE) {
      const outside = tempDir('outside');
      chownSync(outside, 54_321, 54_321);
      expect(await built(['tree', outside, 'map', 'rw', 'root/a', ...tokens])).toBe(WHOLE);
      const made = lstatSync(join(outside, 'x'));
      expect([made.uid, made.gid]).toEqual([54_321, 54_321]);
      if (made.isFile()) expect(made.size).toBe(0);
    }
  });

  it('says so when a text does not fit, and knows no word that it was not taught', async () => {
    expect(await built(['text', 'x'.repeat(3 * 1024 ** 2), 'root/x'])).toMatch(/write x: No space/);
    expect(await built(['tree', '/usr', 'kept', 'ro', 'root/u'])).toMatch(/launch kept: /);
    expect(await built(['tree', '/usr', 'keep', 'wr', 'root/u'])).toMatch(/launch wr: /);
  });
});
