import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { dockerParts, simpleOci, tarOf } from './make-image.ts';
import { dir, file, fixSums, hard, link, makeTar } from './make-tar.ts';
import { HOOKS, Scratch } from './scratch.ts';

const scratch = new Scratch();
const root = makeTar([
  dir('etc'),
  file('etc/a', 'x'.repeat(600)),
  link('l', 'etc'),
  hard('h', 'etc/a'),
  file('n'.repeat(150)),
  { ...file('p'), pax: { path: 'etc/p', size: '1', mtime: '1.5' } },
]);
const SEEDS = [root, tarOf(dockerParts([root])), tarOf(simpleOci([root])), gzipSync(root), zstdCompressSync(root)];

/** Bytes that mean something in a tar header, more often than others. */
const byte = fc.oneof(fc.constantFrom(0, 0x20, 0x2f, 0x30, 0x37, 0x4b, 0x4c, 0x78, 0x67, 0x80, 0xff), fc.nat(255));
const change = fc.record({ at: fc.nat(), byte, cut: fc.boolean() });

/** A tar that makes the reader wait for ever is an attack too. */
function soon<T>(promise: Promise<T>): Promise<T> {
  return Promise.race([promise, sleep(5000, null, { ref: false }).then(() => Promise.reject(new Error('hangs')))]);
}

describe('X-14 images that were tampered with at random', () => {
  test('are imported or refused with a code, soon, and leave nothing behind when refused', async () => {
    const seed = fc.integer({ min: 0, max: SEEDS.length - 1 });
    const images = scratch.open({ bytes: 10 * 1024 ** 2, entries: 1000 });
    await fc.assert(
      fc.asyncProperty(
        seed,
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (n, changes, right) => {
          let data = Buffer.from(SEEDS[n] ?? root);
          for (const { at, byte: value, cut } of changes) {
            // Mostly headers: contents are only contents.
            data[right ? (Math.floor(at / 512) % Math.ceil(data.length / 512)) * 512 + (at % 345) : at % data.length] =
              value;
            if (cut && changes.length === 1) data = data.subarray(0, at % data.length);
          }
          if (right) fixSums(data);
          const error = await soon(images.import('x:1', scratch.write(data), HOOKS)).then(
            () => null,
            (cause: unknown) => cause,
          );
          if (error !== null) {
            expect(error).toBeInstanceOf(SkillboxError);
            expect((error as SkillboxError).code).toMatch(/^IMAGE_/);
          }
          const left = readdirSync(images.directory).filter(name => !name.startsWith('images.db'));
          expect(left.length).toBe(images.list().length);
        },
      ),
      { numRuns: 400, endOnFailure: true },
    );
    images.close();
  }, 60_000);
});
