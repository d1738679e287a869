import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { takeSnapshot } from '../../src/runs/snapshot.ts';
import { digestFolder, type Folder, openDirectory } from '../../src/skill/index.ts';
import { plant } from '../skill/scratch.ts';
import { bytesOf, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SKILL = {
  'SKILL.md': '---\nname: demo\n---\n',
  'scripts/main.sh': { content: 'echo hi\n', executable: true },
  'deep/er/file.txt': 'x',
  '.env': 'SECRET=1',
  'node_modules/left/index.js': 'ignored',
};

const other = (folder: Folder, path: string) => Buffer.alloc(folder.file(path)?.size ?? 0, '#');

describe('snapshot', () => {
  test('X-10 holds exactly the digested files, with their bits, under the digest', async () => {
    const folder = openDirectory(plant(tempDir('skill'), SKILL));
    const directory = tempDir('snapshots');
    const { path, digest, entries } = await takeSnapshot(folder, directory, WRITER);
    expect(digest).toBe(await digestFolder(folder));
    expect(path).toBe(join(directory, digest.replace(':', '-')));
    const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter(name =>
      statSync(join(path, name)).isFile(),
    );
    expect(files.sort()).toEqual(folder.files.map(file => file.path).sort());
    expect(files).not.toContain('.env');
    expect(entries).toEqual(['SKILL.md', 'deep', 'scripts']);
    for (const file of folder.files) {
      expect(statSync(join(path, file.path)).mode & 0o777).toBe(file.executable ? 0o555 : 0o444);
      expect(readFileSync(join(path, file.path)).equals(folder.read(file.path, file.size))).toBe(true);
    }
    expect(await digestFolder(openDirectory(path))).toBe(digest);
    folder.close();
  });

  test('X-10 the umask of the caller changes nothing', async () => {
    const before = process.umask(); // a thread cannot set it: the modes are asserted to be set by name instead
    const folder = openDirectory(plant(tempDir('skill'), SKILL));
    const { path } = await takeSnapshot(folder, tempDir('snapshots'), WRITER);
    expect(statSync(join(path, 'deep/er')).mode & 0o777, `umask ${before}`).toBe(0o755);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    folder.close();
  });

  test('X-10 many at once keep one copy, and nothing half done stays', async () => {
    const root = plant(tempDir('skill'), SKILL);
    const directory = tempDir('snapshots');
    const taken = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const folder = openDirectory(root);
        const snapshot = await takeSnapshot(folder, directory, WRITER);
        folder.close();
        return snapshot;
      }),
    );
    expect(new Set(taken.map(({ path }) => path)).size).toBe(1);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  test('X-10 a skill that changes after it was opened is refused, and leaves nothing', async () => {
    const root = plant(tempDir('skill'), SKILL);
    const directory = tempDir('snapshots');
    const folder = openDirectory(root);
    writeFileSync(join(root, 'scripts/main.sh'), 'echo evil\n');
    await expect(takeSnapshot(folder, directory, WRITER)).rejects.toMatchObject({ code: 'SKILL_CHANGED' });
    expect(readdirSync(directory)).toEqual([]);
    folder.close();
  });

  test('X-10 one that changes between digest and copy, without a trace in its times, is refused too', async () => {
    const inner = openDirectory(plant(tempDir('skill'), SKILL));
    const directory = tempDir('snapshots');
    let reads = 0;
    const folder = {
      origin: inner.origin,
      name: inner.name,
      files: inner.files,
      problems: [],
      file: (path: string) => inner.file(path),
      read: (path: string, maxBytes: number) => inner.read(path, maxBytes),
      close: () => inner.close(),
      // The second time around, other bytes of the same length.
      stream: (path: string) => (++reads > inner.files.length ? bytesOf(other(inner, path)) : inner.stream(path)),
    };
    await expect(takeSnapshot(folder, directory, WRITER)).rejects.toMatchObject({ code: 'SKILL_CHANGED' });
    expect(readdirSync(directory)).toEqual([]);
    inner.close();
  });

  test('a directory that cannot be written is a typed error', async () => {
    const place = tempDir('snapshots');
    writeFileSync(join(place, 'file'), '');
    mkdirSync(join(place, 'closed'));
    chmodSync(join(place, 'closed'), 0o500);
    const folder = openDirectory(plant(tempDir('skill'), SKILL));
    await expect(takeSnapshot(folder, join(place, 'file'), WRITER)).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(existsSync(join(place, 'file'))).toBe(true);
    folder.close();
  });
});
