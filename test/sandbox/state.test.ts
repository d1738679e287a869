import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeTree } from '../../src/sandbox/index.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

test('what is removed is removed whole, and nothing that a link leads to', async () => {
  const place = tempDir('tree');
  const made = (...names: string[]) => {
    for (const name of names) mkdirSync(join(place, name), { recursive: true });
  };
  made(
    'victim/a',
    'victim/b',
    'empty',
    'one/disk',
    'one/slots',
    'deep/a/b/c',
    'mixed/a',
    'many',
    'large',
    `abyss${'/a'.repeat(60)}`,
  );
  for (let index = 0; index < 100; index++) writeFileSync(join(place, 'many', String(index)), '');
  writeFileSync(join(place, 'large/file'), Buffer.alloc(3 * 1024 ** 2));
  symlinkSync(join(place, 'victim'), join(place, 'many/link'));
  writeFileSync(join(place, 'deep/a/file'), 'x');
  symlinkSync(join(place, 'victim'), join(place, 'link'));
  symlinkSync(join(place, 'victim'), join(place, 'mixed/link'));
  for (const name of ['link', 'empty', 'one', 'deep', 'mixed', 'many', 'large', 'abyss', 'absent']) {
    await removeTree(join(place, name));
    expect(existsSync(join(place, name)), name).toBe(false);
  }
  expect(['victim/a', 'victim/b'].filter(name => existsSync(join(place, name)))).toEqual(['victim/a', 'victim/b']);
});
