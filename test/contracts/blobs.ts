import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Blobs } from '../../src/store/index.ts';
import { bytesOf, readAll } from '../support/record.ts';

/** `open` opens the same blobs again, as another process would. `runs`: how many cases a property looks at. */
export type BlobsSubject = { open(): Promise<Blobs>; close(): Promise<void>; runs: number };

const sha256Of = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const NO_BLOBS = ['', 'x', '../../etc/passwd', 'A'.repeat(64), `${'0'.repeat(63)}/`, '0'.repeat(64)];

/** What every place for blobs must hold, whatever is behind it. */
export function blobsContract(name: string, make: () => Promise<BlobsSubject>): void {
  describe(`${name}: blobs`, () => {
    let subject: BlobsSubject;
    let blobs: Blobs;
    beforeAll(async () => {
      subject = await make();
      blobs = await subject.open();
    }, 60_000);
    afterAll(async () => {
      await blobs?.close();
      await subject?.close();
    });

    it('SB-09 content comes back under its own SHA-256, also through another handle', async () => {
      const content = Buffer.alloc(300_000, 'abc');
      const blob = await blobs.put(
        bytesOf(content.subarray(0, 1), content.subarray(1, 200_000), content.subarray(200_000)),
      );
      expect(blob).toEqual({ sha256: sha256Of(content), bytes: content.length });
      const other = await subject.open();
      expect((await readAll(await other.read(blob.sha256))).equals(content)).toBe(true);
      expect(await other.size(blob.sha256)).toBe(content.length);
      await other.close();
    });

    it('any content in any pieces is what it was, and so is any range of it', async () => {
      const pieces = fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 6 });
      const range = fc.record({ start: fc.nat(6000), length: fc.option(fc.nat(6000)) });
      const check = async (parts: Uint8Array[], { start, length }: { start: number; length: number | null }) => {
        const content = Buffer.concat(parts);
        const { sha256, bytes } = await blobs.put(bytesOf(...parts.map(part => Buffer.from(part))));
        expect({ sha256, bytes }).toEqual({ sha256: sha256Of(content), bytes: content.length });
        expect((await readAll(await blobs.read(sha256))).equals(content)).toBe(true);
        const end = length === null ? null : start + length;
        const wanted = content.subarray(start, end === null ? undefined : end + 1);
        expect((await readAll(await blobs.read(sha256, { start, end }))).equals(wanted)).toBe(true);
      };
      await fc.assert(fc.asyncProperty(pieces, range, check), { numRuns: subject.runs });
    });

    it('nothing is content too', async () => {
      const { sha256 } = await blobs.put(bytesOf());
      expect(await readAll(await blobs.read(sha256))).toEqual(Buffer.alloc(0));
      expect(await blobs.size(sha256)).toBe(0);
    });

    it('a range that no content could have is refused', async () => {
      const { sha256 } = await blobs.put(bytesOf('abc'));
      for (const range of [
        { start: -1, end: null },
        { start: 2, end: 1 },
        { start: 0.5, end: null },
        { start: 0, end: Number.NaN },
      ])
        await expect(blobs.read(sha256, range)).rejects.toMatchObject({ code: 'USAGE' });
    });

    it('equal content at once is one blob', async () => {
      const made = await Promise.all(Array.from({ length: 8 }, () => blobs.put(bytesOf('same'))));
      expect(new Set(made.map(({ sha256 }) => sha256)).size).toBe(1);
      expect((await readAll(await blobs.read(sha256Of('same')))).toString()).toBe('same');
      expect((await all(blobs, 3)).filter(sha256 => sha256 === sha256Of('same'))).toHaveLength(1);
    });

    it('a source that breaks leaves no blob', async () => {
      const broken = async function* () {
        yield Buffer.from('half');
        throw new Error('broken');
      };
      await expect(blobs.put(broken())).rejects.toThrow();
      expect(await blobs.read(sha256Of('half'))).toBeNull();
    });

    it.each(NO_BLOBS)('there is no blob %j', async sha256 => {
      expect(await blobs.read(sha256)).toBeNull();
      expect(await blobs.read(sha256, { start: 0, end: 1 })).toBeNull();
      expect(await blobs.size(sha256)).toBeNull();
      expect(await blobs.remove(sha256, null)).toBe(false);
    });

    it('a list has every name once, in order, page by page', async () => {
      const made = await Promise.all(Array.from({ length: 7 }, (_, at) => blobs.put(bytesOf(`listed ${at}`))));
      const names = await all(blobs, 3);
      expect(names).toEqual([...names].sort());
      expect(new Set(names).size).toBe(names.length);
      for (const { sha256 } of made) expect(names).toContain(sha256);
      const [first] = (await blobs.list({ limit: 1, after: null })).items;
      expect(first?.bytes).toBe(await blobs.size(first?.sha256 ?? ''));
      expect(Math.abs((first?.writtenAt ?? 0) - Date.now())).toBeLessThan(120_000);
    });

    it('what is removed is gone for everybody, and can be written again', async () => {
      const { sha256 } = await blobs.put(bytesOf('removed'));
      const other = await subject.open();
      expect(await other.remove(sha256, null)).toBe(true);
      expect(await other.remove(sha256, null)).toBe(false);
      expect(await blobs.read(sha256)).toBeNull();
      expect(await blobs.size(sha256)).toBeNull();
      expect(await all(blobs, 100)).not.toContain(sha256);
      await other.put(bytesOf('removed'));
      expect((await readAll(await blobs.read(sha256))).toString()).toBe('removed');
      await other.close();
    });

    it('what was written since, also as equal content, stays', async () => {
      const { sha256 } = await blobs.put(bytesOf('kept'));
      expect(await blobs.remove(sha256, Date.now() - 60_000)).toBe(false);
      expect(await blobs.size(sha256)).toBe(4);
      // S3 knows the time to the second only.
      await sleep(1100);
      expect(await blobs.remove(sha256, Date.now() + 1000)).toBe(true);
      expect(await blobs.size(sha256)).toBeNull();
    });

    it('a URL names the blob', async () => {
      const { sha256 } = await blobs.put(bytesOf('linked'));
      const wish = { filename: 'a.txt', contentType: 'text/plain', seconds: 60, tenant: 'acme' };
      expect(new URL(await blobs.url(sha256, wish)).pathname).toContain(sha256);
    });

    it('says that it works', async () => {
      await blobs.check();
      await blobs.sweep();
      expect((await readAll(await blobs.read((await blobs.put(bytesOf('after'))).sha256))).toString()).toBe('after');
    });
  });
}

/** Every name, by pages. */
async function all(blobs: Blobs, limit: number): Promise<string[]> {
  const names: string[] = [];
  for (let after: string | null = null; ; ) {
    const { items, next } = await blobs.list({ limit, after });
    expect(items.length).toBeLessThanOrEqual(limit);
    names.push(...items.map(({ sha256 }) => sha256));
    if (next === null) return names;
    after = next;
  }
}
