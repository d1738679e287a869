import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dockerParts, tarOf } from './make-image.ts';
import { dir, file, hard, link, makeTar, type TarItem } from './make-tar.ts';
import { HOOKS, Scratch } from './scratch.ts';

const scratch = new Scratch();

/** The tree that a stack of layers leaves. */
function stack(...layers: TarItem[][]): Promise<Record<string, string>> {
  return scratch.unpack(tarOf(dockerParts(layers.map(layer => makeTar(layer)))));
}

describe('X-14 layers over layers', () => {
  test('a later layer adds, replaces and merges', async () => {
    expect(
      await stack([dir('etc'), file('etc/a', 'old'), file('etc/b')], [dir('etc'), file('etc/a', 'new'), file('etc/c')]),
    ).toEqual({ etc: '/', 'etc/a': 'new', 'etc/b': 'etc/b', 'etc/c': 'etc/c' });
  });

  test('parents that no entry names are made', async () => {
    expect(await stack([file('a/b/c', 'x')])).toEqual({ a: '/', 'a/b': '/', 'a/b/c': 'x' });
  });

  test('a file takes the place of a directory, and a directory that of a link, without following it', async () => {
    expect(
      await stack([file('a/b'), link('l', 'a'), file('keep')], [file('a', 'now a file'), dir('l'), file('l/x')]),
    ).toEqual({ a: 'now a file', keep: 'keep', l: '/', 'l/x': 'l/x' });
  });

  test('a whiteout removes from below, a file or a whole directory', async () => {
    expect(await stack([file('d/a'), file('d/sub/b'), file('e')], [file('d/.wh.sub', ''), file('.wh.e', '')])).toEqual({
      d: '/',
      'd/a': 'd/a',
    });
  });

  test('a whiteout spares its own layer, before and behind it', async () => {
    expect(
      await stack(
        [file('a', 'old'), file('b', 'old')],
        [file('a', 'new'), file('.wh.a', ''), file('.wh.b', ''), file('b', 'new')],
      ),
    ).toEqual({ a: 'new', b: 'new' });
  });

  test('a directory that is removed and made anew holds only what is new', async () => {
    expect(await stack([file('d/old')], [file('d/new'), file('.wh.d', '')])).toEqual({ d: '/', 'd/new': 'd/new' });
  });

  test('an opaque directory hides everything from below, wherever in its layer the mark stands', async () => {
    const below = [file('d/a'), file('d/s/b'), file('keep')];
    const expected = { d: '/', 'd/n': 'd/n', keep: 'keep' };
    expect(await stack(below, [file('d/.wh..wh..opq', ''), file('d/n')])).toEqual(expected);
    expect(await stack(below, [file('d/n'), file('d/.wh..wh..opq', '')])).toEqual(expected);
  });

  test('whiteouts of what is not there, and the notes of AUFS, change nothing', async () => {
    const layer = [file('.wh.no', ''), file('x/.wh.no', ''), file('y/.wh..wh..opq', ''), file('.wh..wh.plnk/1', '')];
    expect(await stack([file('a')], layer)).toEqual({ a: 'a' });
  });

  test('hard links share their bytes and survive the whiteout of the first name', async () => {
    expect(await stack([file('a', 'shared'), hard('b', 'a')], [hard('c', './b'), file('.wh.a', '')])).toEqual({
      b: 'shared',
      c: 'shared',
    });
  });

  test('a name that is written anew leaves the other names of the old file alone', async () => {
    expect(await stack([file('a', 'old'), hard('b', 'a')], [file('a', 'new')])).toEqual({ a: 'new', b: 'old' });
  });

  test('links are data, wherever they point', async () => {
    expect(await stack([link('a', '/etc/shadow'), link('b', '../../../..'), hard('c', 'a')])).toEqual({
      a: '-> /etc/shadow',
      b: '-> ../../../..',
      c: '-> /etc/shadow',
    });
  });

  test('odd names are names: blanks, newlines, backslashes, dots, a dash, other scripts, 255 bytes', async () => {
    const names = [' ', 'a\nb', 'a\\..\\b', '...', '-rf', 'ő漢', '\u202e', '*', 'x'.repeat(255), '__proto__'];
    const seen = await stack(names.map(name => file(name, 'x')));
    expect(Object.keys(seen).sort()).toEqual([...names].sort());
  });

  test('SB-03 everything is readable by a run, nothing writable, nothing setuid; times are kept', async () => {
    const images = scratch.open();
    const items = [
      { ...file('su', 'x', 0o4755), mtime: 1_600_000_000 },
      file('secret', 'x', 0o600),
      file('open', 'x', 0o666),
      file('tool', 'x', 0o700),
      { ...dir('d'), mode: 0o2000 },
    ];
    const { image, notes } = await images.import('x:1', scratch.write(makeTar(items)), HOOKS);
    const mode = (name: string) => lstatSync(join(images.rootOf(image.digest), name)).mode & 0o7777;
    expect(['su', 'secret', 'open', 'tool', 'd', ''].map(mode)).toEqual([0o555, 0o444, 0o444, 0o555, 0o755, 0o755]);
    expect(lstatSync(join(images.rootOf(image.digest), 'su')).mtimeMs).toBe(1_600_000_000_000);
    expect(notes).toEqual(['1 files lost their setuid or setgid bit']);
    images.close();
  });
});
