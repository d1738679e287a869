import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import {
  checkPath,
  defaultRules,
  digestFolder,
  type Folder,
  NameIndex,
  openArchive,
  openDirectory,
  writeArchive,
} from '../../src/skill/index.ts';
import { descriptor, makeZip } from './make-zip.ts';
import { contents, digestOf, plant, run, scratch, type Tree } from './scratch.ts';

const segment = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,12}$/),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  fc.constantFrom('scripts', 'references', '__proto__', '-rf', 'a b', 'é', '日本'),
);
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map(segments => segments.join('/'));
const content = fc.oneof(
  fc.string().map(text => Buffer.from(text)),
  fc.uint8Array({ maxLength: 2000 }).map(bytes => Buffer.from(bytes)),
  fc.tuple(fc.nat({ max: 300_000 }), fc.string()).map(([length, text]) => Buffer.alloc(length, text)),
);

/** Trees that are skills: SKILL.md, and files that nothing would leave out. */
const tree: fc.Arbitrary<Tree> = fc.array(fc.tuple(path, content, fc.boolean()), { maxLength: 8 }).map(files => {
  const names = new NameIndex();
  const rules = defaultRules();
  const result: Tree = Object.create(null) as Tree;
  for (const [name, bytes, executable] of [['SKILL.md', Buffer.from('x'), false] as const, ...files]) {
    if (checkPath(name) !== null || rules.judge(name) !== 'taken' || names.add(name, 'file') !== null) continue;
    result[name] = { content: bytes, executable };
  }
  return result;
});

test('SB-12 X-10 packing, reading and packing again is the identity on bytes, files and digest', async () => {
  const base = scratch();
  let at = 0;
  await fc.assert(
    fc.asyncProperty(tree, async files => {
      const here = `${base}/${at++}`;
      const folder = openDirectory(plant(`${here}/s`, files));
      expect(folder.problems).toEqual([]);
      expect(folder.files.map(file => file.path).sort()).toEqual(Object.keys(files).sort());
      const first = await writeArchive(folder, `${here}/1.zip`);
      const archive = await openArchive(`${here}/1.zip`);
      const second = await writeArchive(archive, `${here}/2.zip`);
      expect(contents(archive)).toEqual(contents(folder));
      expect(await digestFolder(archive)).toBe(first.digest);
      archive.close();
      expect(second).toEqual(first);
      expect(readFileSync(`${here}/2.zip`).equals(readFileSync(`${here}/1.zip`))).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('X-10 the digest of a folder differs if and only if its files differ', async () => {
  const base = scratch();
  let at = 0;
  await fc.assert(
    fc.asyncProperty(tree, tree, fc.boolean(), async (one, other, same) => {
      const [a, b] = [plant(`${base}/${at++}`, one), plant(`${base}/${at++}`, same ? one : other)];
      const equal = JSON.stringify(contents(openDirectory(a))) === JSON.stringify(contents(openDirectory(b)));
      expect((await digestOf(a)) === (await digestOf(b))).toBe(equal);
    }),
    { numRuns: 60 },
  );
});

describe('X-08 a valid archive with changed bytes is refused, or is still the same skill', () => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(40);
  const sources: [string, (base: string) => Promise<Buffer> | Buffer][] = [
    [
      'ours',
      async base => {
        const root = plant(`${base}/s`, {
          'SKILL.md': text,
          'scripts/run.sh': { content: 'x', executable: true },
          empty: '',
        });
        await writeArchive(openDirectory(root), `${base}/ours.zip`);
        return readFileSync(`${base}/ours.zip`);
      },
    ],
    [
      'zip -r',
      base => {
        plant(`${base}/s`, { 'SKILL.md': text, 'scripts/run.sh': { content: 'x', executable: true }, 'é.md': 'y' });
        run('zip', ['-qr', 'plain.zip', 's'], base);
        return readFileSync(`${base}/plain.zip`);
      },
    ],
    [
      'descriptors and ZIP64',
      () => {
        const local = { crc: 0, packedSize: 0, size: 0 };
        const bare = {
          name: 'SKILL.md',
          content: 'hello',
          flags: 0x808,
          local,
          after: descriptor('hello', 'wide-bare', 5),
        };
        return makeZip([bare, { name: 'a/b', content: text, method: 8 }], { zip64: {}, comment: Buffer.from('hi') });
      },
    ],
  ];

  type Change = { kind: 'set' | 'insert' | 'remove' | 'copy'; at: number; from: number; length: number; byte: number };
  const change: fc.Arbitrary<Change> = fc.record({
    kind: fc.constantFrom('set', 'set', 'set', 'insert', 'remove', 'copy'),
    at: fc.nat({ max: 1_000_000 }),
    from: fc.nat({ max: 1_000_000 }),
    length: fc.integer({ min: 1, max: 60 }),
    byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 0xff, 0x50, 0x2f)),
  });

  function apply(bytes: Buffer, { kind, at, from, length, byte }: Change): Buffer {
    const place = at % (bytes.length + 1);
    const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
    if (kind === 'set')
      return Buffer.concat([before, Buffer.from([byte]).subarray(0, after.length), after.subarray(1)]);
    if (kind === 'insert') return Buffer.concat([before, Buffer.alloc(length, byte), after]);
    if (kind === 'remove') return Buffer.concat([before, after.subarray(length)]);
    const start = from % (bytes.length + 1);
    return Buffer.concat([before, bytes.subarray(start, start + length), after.subarray(length)]);
  }

  /** Paths and bytes. Nothing in a zip protects its modes, so a changed executable bit cannot be seen. */
  const essence = (folder: Folder) =>
    folder.files.map(file => [file.path, folder.read(file.path, file.size).toString('hex')]);

  test.each(sources)('%s', async (_title, make) => {
    const base = scratch();
    const valid = await make(base);
    const file = `${base}/changed.zip`;
    writeFileSync(file, valid);
    const original = await openArchive(file);
    const expected = essence(original);
    original.close();
    const seen = { refused: 0, same: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async changes => {
        writeFileSync(file, changes.reduce(apply, valid));
        let folder: Folder;
        try {
          folder = await openArchive(file);
        } catch (error) {
          if (!(error instanceof SkillboxError)) throw error;
          expect(['ARCHIVE_UNSAFE', 'ARCHIVE_TOO_LARGE']).toContain(error.code);
          seen.refused++;
          return;
        }
        expect(essence(folder)).toEqual(expected);
        folder.close();
        seen.same++;
      }),
      { numRuns: 1500 },
    );
    // Otherwise the property says nothing.
    expect(seen.refused).toBeGreaterThan(500);
    expect(seen.same).toBeGreaterThan(0);
  });
});
