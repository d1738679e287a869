import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { digestFolder, openArchive, openDirectory, writeArchive } from '../../src/skill/index.ts';
import { collect, DEMO, digestOf, openDescriptors, plant, refusal, scratch } from './scratch.ts';

describe('SB-12 a package', () => {
  test('of the same content has the same bytes, whatever the folder, the order of writing and the carrier', async () => {
    const base = scratch();
    const one = openDirectory(plant(`${base}/one`, DEMO));
    const two = openDirectory(plant(`${base}/two`, Object.fromEntries(Object.entries(DEMO).reverse())));
    const first = await writeArchive(one, `${base}/1.zip`);
    const second = await writeArchive(two, `${base}/2.zip`);
    const read = await openArchive(`${base}/1.zip`);
    const third = await writeArchive(read, `${base}/3.zip`);
    read.close();
    const bytes = readFileSync(`${base}/1.zip`);
    expect(readFileSync(`${base}/2.zip`).equals(bytes)).toBe(true);
    expect(readFileSync(`${base}/3.zip`).equals(bytes)).toBe(true);
    expect([first, second, third]).toEqual(Array(3).fill({ bytes: bytes.length, digest: await digestFolder(one) }));
  });

  test('has the same bytes in every time zone and under every umask', () => {
    const base = scratch();
    plant(`${base}/s`, { 'SKILL.md': 'x', 'run.sh': { content: 'y', executable: true } });
    const script = `import { openDirectory, writeArchive } from ${JSON.stringify(join(import.meta.dirname, '../../src/skill/index.ts'))};
      process.umask(Number(process.argv[2]));
      await writeArchive(openDirectory('s'), process.argv[1]);`;
    const zones = [
      ['UTC', 0o022],
      ['Asia/Tokyo', 0o077],
      ['America/Los_Angeles', 0],
      ['Pacific/Apia', 0o027],
    ] as const;
    const archives = zones.map(([zone, umask], at) => {
      const child = spawnSync(
        process.execPath,
        ['--input-type=module', '-e', script, '--', `${at}.zip`, String(umask)],
        { cwd: base, env: { TZ: zone }, encoding: 'utf8' },
      );
      if (child.status !== 0) throw new Error(child.stderr);
      return readFileSync(`${base}/${at}.zip`).toString('hex');
    });
    expect(new Set(archives).size).toBe(1);
    // 1980-01-01 00:00, and unix modes 0644 and 0755 of regular files.
    const { length } = archives[0] ?? '';
    expect(length).toBeGreaterThan(0);
    expect(archives[0]).toContain(`504b0304${'1400'}${'0808'}${'0800'}${'0000'}${'2100'}`);
  });

  test('carries only modes 0644 and 0755', async () => {
    const base = scratch();
    await writeArchive(openDirectory(plant(`${base}/s`, DEMO)), `${base}/a.zip`);
    const listing = spawnSync(
      'python3',
      [
        '-c',
        'import sys,zipfile;print([(oct(i.external_attr>>16),i.date_time,i.create_system) for i in zipfile.ZipFile(sys.argv[1]).infolist()])',
        `${base}/a.zip`,
      ],
      { encoding: 'utf8' },
    ).stdout;
    const plain = "('0o100644', (1980, 1, 1, 0, 0, 0), 3)";
    expect(listing.trim()).toBe(`[${[plain, plain, plain, plain, plain.replace('644', '755')].join(', ')}]`);
  });

  test('goes to a stream as well', async () => {
    const folder = openDirectory(plant(`${scratch()}/s`, DEMO));
    const sink = new PassThrough();
    const [written, bytes] = await Promise.all([writeArchive(folder, sink), collect(sink)]);
    const path = `${scratch()}/a.zip`;
    expect(await writeArchive(folder, path)).toEqual(written);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  test('appears whole or not at all', async () => {
    const base = scratch();
    const root = plant(`${base}/s`, { 'SKILL.md': 'x', large: Buffer.alloc(300_000, 'a') });
    plant(`${base}/out`, { 'a.zip': 'what was there before' });
    const folder = openDirectory(root);
    writeFileSync(join(root, 'large'), Buffer.alloc(300_000, 'b'));
    await refusal(() => writeArchive(folder, `${base}/out/a.zip`), 'SKILL_CHANGED');
    expect(readdirSync(`${base}/out`)).toEqual(['a.zip']);
    expect(readFileSync(`${base}/out/a.zip`, 'utf8')).toBe('what was there before');
    await refusal(() => writeArchive(openDirectory(root), `${base}/none/a.zip`), 'UNWRITABLE');
    await refusal(() => writeArchive(openDirectory(root), `${base}/out`), 'UNWRITABLE');
    expect(readdirSync(base).sort()).toEqual(['out', 's']);
  });

  test.skipIf(process.platform !== 'linux')(
    'ends with an error when its sink does, and leaves no file open',
    async () => {
      const root = plant(`${scratch()}/s`, { 'SKILL.md': 'x', 'noise.bin': randomBytes(900_000) });
      let room = 3;
      const sink = new Writable({
        write: (_chunk, _encoding, done) => done(room-- > 0 ? null : new Error('disk full')),
      });
      await expect(writeArchive(openDirectory(root), sink)).rejects.toThrow('disk full');
      await new Promise(setImmediate);
      expect(openDescriptors(root)).toEqual([]);
    },
  );

  test('can always be read again, also when a large file compresses like a bomb', async () => {
    const base = scratch();
    const folder = openDirectory(
      plant(`${base}/s`, { 'SKILL.md': 'x', zeros: Buffer.alloc(3 * 1024 ** 2), some: Buffer.alloc(1024 ** 2) }),
    );
    await writeArchive(folder, `${base}/a.zip`);
    expect(await digestOf(`${base}/a.zip`)).toBe(await digestFolder(folder));
  });
});
