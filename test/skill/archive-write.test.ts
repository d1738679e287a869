import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import * as fflate from 'fflate';
import { describe, expect, test } from 'vitest';
import { writeArchive } from '../../src/skill/archive-write.ts';
import { digestFolder, type Folder, openArchive, openDirectory } from '../../src/skill/index.ts';
import { deflate } from '../../src/skill/zip-write.ts';
import { collect, DEMO, digestOf, openDescriptors, plant, refusal, run, scratch, type Tree } from './scratch.ts';

const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Words and noise in turns, as long as wanted: packed well, but not like a bomb. */
function prose(bytes: number): Buffer {
  const content = Buffer.alloc(bytes);
  for (let at = 0, state = 1; at < bytes; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    content[at] = at % 1000 < 700 ? 97 + ((at % 1000) % 23) : state >>> 24;
  }
  return content;
}

/** Larger than what is packed in memory. */
const LARGE = { 'SKILL.md': 'x', 'large.bin': prose(5 * 1024 ** 2 + 17) };

/** Name, digest, mode and method of every file, as Python reads them; it checks the CRCs as well. */
function readByPython(path: string): [string, string, string, number][] {
  const script = `import hashlib,json,sys,zipfile
zip=zipfile.ZipFile(sys.argv[1])
print(json.dumps([(i.filename,hashlib.sha256(zip.read(i)).hexdigest(),oct(i.external_attr>>16),i.compress_type) for i in zip.infolist()]))`;
  const child = spawnSync('python3', ['-c', script, path], { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout);
}

function expectedOf(tree: Tree): [string, string, string][] {
  const sorted = Object.entries(tree).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return sorted.map(([path, value]) => {
    const { content, executable } =
      typeof value === 'string' || Buffer.isBuffer(value) ? { content: value, executable: false } : value;
    return [path, createHash('sha256').update(content).digest('hex'), executable ? '0o100755' : '0o100644'];
  });
}

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
    expect(archives[0]).toContain(`504b0304${'1400'}${'0008'}${'0000'}${'0000'}${'2100'}`);
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

  // A changed byte here is a changed release everywhere: only with a reason, and never by an update of a dependency.
  test.each([
    ['small files', DEMO, '51c9ab9300357fcd5692d8b3914b87f472a7cda3d0721eb545ac2a087e6d42d2'],
    ['a large file', LARGE, 'ff9433f9292e2c97b4f5193f35ab0c2b8dcac2f6f0830cf5378ae925da156c55'],
  ])('has forever the bytes that it has: %s', async (_what, tree, golden) => {
    const base = scratch();
    await writeArchive(openDirectory(plant(`${base}/s`, tree)), `${base}/a.zip`);
    expect(sha256(`${base}/a.zip`)).toBe(golden);
  });

  test.each([
    ['small files', DEMO],
    ['a large file', LARGE],
  ])('is read by others and by ourselves: %s', async (_what, tree) => {
    const base = scratch();
    const folder = openDirectory(plant(`${base}/s`, tree));
    const { digest } = await writeArchive(folder, `${base}/a.zip`);
    expect(readByPython(`${base}/a.zip`).map(([name, sha, mode]) => [name, sha, mode])).toEqual(expectedOf(tree));
    run('unzip', ['-tq', 'a.zip'], base);
    expect(await digestOf(`${base}/a.zip`)).toBe(digest);
    expect(digest).toBe(await digestFolder(folder));
  });

  test('of a large file does not show in which pieces the file was read', async () => {
    const base = scratch();
    const folder = openDirectory(plant(`${base}/s`, LARGE));
    await writeArchive(folder, `${base}/1.zip`);
    await writeArchive(inPieces(folder, 1000), `${base}/2.zip`);
    await writeArchive(inPieces(folder, 300_001), `${base}/3.zip`);
    expect(new Set(['1', '2', '3'].map(name => sha256(`${base}/${name}.zip`))).size).toBe(1);
  });

  test('is not written when a large file changes between its header and its data', async () => {
    const base = scratch();
    const folder = openDirectory(plant(`${base}/s`, LARGE));
    let reads = 0;
    const changing = inPieces(folder, 65_536, piece => {
      // Read for the CRC, for the packed size, and then for the data.
      if (piece === 0) reads++;
      return reads === 4 && piece === 3;
    });
    await refusal(() => writeArchive(changing, `${base}/a.zip`), 'SKILL_CHANGED');
    expect(readdirSync(base)).toEqual(['s']);
  });

  test('stores what would not become smaller', async () => {
    const base = scratch();
    const tree = { 'SKILL.md': 'x'.repeat(100), empty: '', 'noise.bin': randomBytes(5000) };
    await writeArchive(openDirectory(plant(`${base}/s`, tree)), `${base}/a.zip`);
    expect(readByPython(`${base}/a.zip`).map(([name, , , method]) => [name, method])).toEqual([
      ['SKILL.md', 8],
      ['empty', 0],
      ['noise.bin', 0],
    ]);
  });

  test.each([
    ['sizes', { size: 1000, count: 0xffff }, '2d00'],
    ['the number of files', { size: 0xffffffff, count: 5 }, '1400'],
    ['everything', { size: 0, count: 0 }, '2d00'],
  ])('needs ZIP64 for %s and is read by all who know it', async (_what, bounds, version) => {
    const base = scratch();
    const { digest } = await writeArchive(openDirectory(plant(`${base}/s`, DEMO)), `${base}/a.zip`, bounds);
    const bytes = readFileSync(`${base}/a.zip`);
    expect(bytes.includes('PK\u0006\u0006', 0, 'latin1')).toBe(true);
    expect(bytes.includes(Buffer.from(`504b0102${'3f03'}${version}`, 'hex'))).toBe(true);
    expect(await digestOf(`${base}/a.zip`)).toBe(digest);
    expect(readByPython(`${base}/a.zip`).map(([name, sha, mode]) => [name, sha, mode])).toEqual(expectedOf(DEMO));
    run('unzip', ['-tq', 'a.zip'], base);
  });
});

describe('the stream of packed data', () => {
  /** Zeros, repetitions and noise: what made fflate refer to data before the file's beginning. */
  const part = fc.oneof(
    fc.record({ zeros: fc.nat(60) }),
    fc.record({ back: fc.integer({ min: 1, max: 40_000 }), length: fc.integer({ min: 1, max: 300 }) }),
    fc.record({ bytes: fc.uint8Array({ maxLength: 40 }) }),
  );

  test('is unpacked to what it was made of', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 50, maxLength: 800 }), fc.nat(60_000), async (parts, more) => {
        const content = Buffer.alloc(32 * 1024 + 1 + more);
        for (let at = 0; at < content.length; ) at = fill(content, at, parts);
        const chunks = Readable.from([content]);
        const packed = await collect(deflate(fflate, chunks, content.length));
        expect(inflateRawSync(packed).equals(content)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  type Part = { zeros: number } | { back: number; length: number } | { bytes: Uint8Array };

  function fill(content: Buffer, start: number, parts: Part[]): number {
    let at = start;
    for (const part of parts) {
      if ('zeros' in part) at += part.zeros;
      else if ('bytes' in part) for (const byte of part.bytes) content[at++] = byte;
      else for (let end = at + part.length; at < end; at++) content[at] = content[at - part.back] ?? 7;
    }
    // At least one byte further, also when all parts are empty.
    return at + 1;
  }
});

/** The same folder, read in pieces of another size; `spoil` tells of which of them the first byte is turned. */
function inPieces(folder: Folder, bytes: number, spoil: (piece: number) => boolean = () => false): Folder {
  return Object.create(folder, {
    files: { value: folder.files },
    stream: {
      async *value(path: string): AsyncGenerator<Buffer> {
        const content = await collect(folder.stream(path));
        for (let piece = 0; piece * bytes < content.length; piece++) {
          const chunk = Buffer.from(content.subarray(piece * bytes, (piece + 1) * bytes));
          if (spoil(piece)) chunk[0] = (chunk[0] ?? 0) ^ 1;
          yield chunk;
        }
      },
    },
  });
}
