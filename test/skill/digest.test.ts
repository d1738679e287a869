import { chmodSync, utimesSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDigest, digestFolder, type FileEntry, openDirectory } from '../../src/skill/index.ts';
import { plant, refusal, scratch, type Tree } from './scratch.ts';

const digestOf = async (tree: Tree): Promise<string> => digestFolder(openDirectory(plant(`${scratch()}/s`, tree)));

function feed(files: (FileEntry & { content: string })[]): string {
  const digest = createDigest();
  for (const file of files) {
    digest.begin(file);
    digest.add(Buffer.from(file.content));
  }
  return digest.end();
}

describe('X-10 the digest of a skill', () => {
  test('is a versioned SHA-256; changing its definition breaks every approval, so it is pinned', async () => {
    expect(await digestOf({ 'SKILL.md': 'hi\n', 'run.sh': { content: 'true\n', executable: true } })).toBe(
      'sb1-sha256:3fb634d1fb9ff459cb9d83ec2a6d3660d999c384c440aa5068803147a1810ce1',
    );
  });

  test('does not depend on the order of writing, on times or on other permissions', async () => {
    const one = plant(`${scratch()}/a`, { 'SKILL.md': 'x', 'b/c': 'y', Z: 'z' });
    const two = plant(`${scratch()}/b`, { Z: 'z', 'b/c': 'y', 'SKILL.md': 'x' });
    utimesSync(`${two}/SKILL.md`, 1, 1);
    chmodSync(`${two}/SKILL.md`, 0o600);
    expect(await digestFolder(openDirectory(one))).toBe(await digestFolder(openDirectory(two)));
  });

  test('tells apart what is only framed differently', async () => {
    const digests = await Promise.all([
      digestOf({ ab: 'c' }),
      digestOf({ a: 'bc' }),
      digestOf({ a: 'b', c: '' }),
      digestOf({ a: '', b: 'c' }),
      digestOf({ 'a/b': 'c' }),
      digestOf({ ab: { content: 'c', executable: true } }),
      digestOf({}),
    ]);
    expect(new Set(digests).size).toBe(digests.length);
  });

  test('does not see what is ignored', async () => {
    expect(await digestOf({ 'SKILL.md': 'x', '.git/HEAD': 'a' })).toBe(
      await digestOf({ 'SKILL.md': 'x', '.DS_Store': 'b' }),
    );
  });

  test('refuses content that is shorter or longer than announced', async () => {
    for (const size of [1, 3]) {
      await refusal(() => feed([{ path: 'a', size, executable: false, content: 'xx' }]), 'SKILL_CHANGED');
    }
  });
});

test('X-10 the digest changes if and only if a path, an executable bit or a content changes', () => {
  const file = fc.record({
    path: fc.constantFrom('SKILL.md', 'a', 'b/c', 'b/d', 'é'),
    executable: fc.boolean(),
    content: fc.constantFrom('', 'a', 'b', 'ab', 'SKILL.md'),
  });
  const tree = fc.uniqueArray(file, { selector: one => one.path, maxLength: 5 });
  const normal = (files: { path: string; executable: boolean; content: string }[]) =>
    files
      .map(one => ({ ...one, size: Buffer.byteLength(one.content) }))
      .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  fc.assert(
    fc.property(tree, tree, (one, two) => {
      const same = JSON.stringify(normal(one)) === JSON.stringify(normal(two));
      expect(feed(normal(one)) === feed(normal(two))).toBe(same);
    }),
    { numRuns: 2000 },
  );
});

test('X-10 a changed byte anywhere changes the digest', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (bytes, at, by) => {
        const digestBytes = (content: Uint8Array): string => {
          const digest = createDigest();
          digest.begin({ path: 'a', size: content.length, executable: false });
          digest.add(Buffer.from(content));
          return digest.end();
        };
        const other = Uint8Array.from(bytes);
        const index = at % bytes.length;
        other[index] = ((other[index] ?? 0) + by) % 256;
        expect(digestBytes(other)).not.toBe(digestBytes(bytes));
      },
    ),
  );
});
