import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { createJudge, openTrustStore } from '../../src/policy/index.ts';
import { tempDirectory } from '../temp.ts';

const base = tempDirectory();
let data = '';
let count = 0;
beforeEach(() => {
  data = join(base, `data-${count++}`);
});
const file = () => join(data, 'trust.json');
const values = () =>
  openTrustStore(data)
    .read()
    .entries.map(({ value }) => value);

describe('what the user trusts', () => {
  test('is kept, once each, and taken away again', () => {
    const store = openTrustStore(data);
    expect(store.read()).toEqual({ entries: [], fault: null });
    expect([store.add('path', '/srv/a'), store.add('path', '/srv/a'), store.add('publisher', 'acme')]).toEqual([
      true,
      false,
      true,
    ]);
    expect(values()).toEqual(['/srv/a', 'acme']);
    expect([store.remove('publisher', '/srv/a'), store.remove('path', '/srv/a')]).toEqual([false, true]);
    expect(values()).toEqual(['acme']);
  });

  test('is written for its owner only, and nothing is left beside it', () => {
    openTrustStore(data).add('path', '/srv/a');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(data).sort()).toEqual(['trust.json', 'trust.json.lock']);
    expect(statSync(join(data, 'trust.json.lock')).mode & 0o777).toBe(0o600);
  });

  test('loses nothing when two processes write at once', async () => {
    const path = join(import.meta.dirname, 'trust-child.ts');
    const children = ['a', 'b'].map(prefix => spawn(process.execPath, [path, data, prefix, '40']));
    await Promise.all(children.map(child => once(child.stdout, 'data')));
    const ends = children.map(child => once(child, 'exit'));
    for (const child of children) child.stdin.end('x');
    expect(await Promise.all(ends)).toEqual([
      [0, null],
      [0, null],
    ]);
    const wanted = ['a', 'b'].flatMap(prefix => Array.from({ length: 40 }, (_, index) => `/srv/${prefix}-${index}`));
    expect(values().sort()).toEqual(wanted.sort());
  });

  test.each<[string, () => void]>([
    ['no JSON', () => writeFileSync(file(), '{"version": 1, "entr')],
    ['empty', () => writeFileSync(file(), '')],
    ['another version', () => writeFileSync(file(), '{"version": 2, "entries": []}')],
    ['a relative path', () => writeFileSync(file(), entries([{ kind: 'path', value: 'srv', addedAt: 0 }]))],
    ['an unknown kind', () => writeFileSync(file(), entries([{ kind: 'name', value: '/srv', addedAt: 0 }]))],
    ['one bad entry among good ones', () => writeFileSync(file(), entries([good, { kind: 'path' }]))],
    [
      'written to by everybody',
      () => {
        writeFileSync(file(), entries([good]));
        chmodSync(file(), 0o666);
      },
    ],
    [
      'a link',
      () => {
        writeFileSync(join(data, 'other.json'), entries([good]));
        symlinkSync('other.json', file());
      },
    ],
    ['a folder', () => mkdirSync(file())],
  ])('is nothing when the file is %s; it says so, and is not written over', (_what, make) => {
    mkdirSync(data);
    make();
    const before = statSync(file()).isFile() ? readFileSync(file()) : null;
    const store = openTrustStore(data);
    expect(store.read()).toEqual({ entries: [], fault: expect.any(String) });
    expect(() => store.add('path', '/srv/b')).toThrow(SkillboxError);
    if (before !== null) expect(readFileSync(file())).toEqual(before);
    const judge = createJudge({ userPolicy: '/none', directory: null, bundled: [], own: [], store });
    const { trust, why } = judge.vouch({ kind: 'directory', path: base, publisher: null, files: [] });
    expect(trust).toBe('untrusted');
    expect(why).toContain('What you trusted cannot be read');
  });
});

const good = { kind: 'path', value: '/srv/a', addedAt: 0 };
function entries(list: unknown[]): string {
  return JSON.stringify({ version: 1, entries: list });
}
