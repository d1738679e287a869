import { readdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import type { RefusalReason } from '../../src/skill/index.ts';
import { type Item, makeZip, type Whole } from '../skill/make-zip.ts';
import { tidy } from '../support/temp.ts';
import { ground, plainZip, publish, refused, skillItems, skillZip } from './make.ts';

tidy();

/** Beside a skill that is right, so that nothing but the attack can be what is refused. */
const ATTACKS: [RefusalReason, Item[], Whole?][] = [
  ['name', [{ name: '../evil', content: 'x' }]],
  ['name', [{ name: '/etc/passwd', content: 'x' }]],
  ['name', [{ name: 'C:/evil', content: 'x' }]],
  ['name', [{ name: '..\\evil', content: 'x' }]],
  ['name', [{ name: 'a\nb', content: 'x' }]],
  ['name', [{ name: '\u202egpj.sh', content: 'x' }]],
  ['name', [{ name: 'SKILL.md\0.txt', content: 'x' }]],
  ['name', [{ name: Buffer.from([0x61, 0xff]), content: 'x' }]],
  ['name', [{ name: '__MACOSX/../../evil', content: 'x' }]],
  ['collision', [{ name: 'skill.md', content: 'x' }]],
  ['link', [{ name: 'x', content: '/etc/passwd', mode: 0o120777 }]],
  ['special-file', [{ name: 'x', mode: 0o010644 }]],
  ['special-file', [{ name: 'x', mode: 0o020644 }]],
  ['encrypted', [{ name: 'x', content: 'x', flags: 0x801 }]],
  ['method', [{ name: 'x', content: 'x', method: 12 }]],
  ['ratio', [{ name: 'bomb', content: Buffer.alloc(3 * 1024 ** 2), method: 8 }]],
  ['size', [{ name: 'bomb', packed: deflateRawSync(Buffer.alloc(3 * 1024 ** 2)), method: 8, size: 5000 }]],
  ['local-header', [{ name: 'x', content: 'x', local: { name: 'y' } }]],
  ['crc', [{ name: 'x', content: 'x', crc: 1 }]],
  ['local-header', [{ name: 'x', content: 'print(1)\n', offset: 0 }]],
  ['prepended-data', [], { before: Buffer.from('#!/bin/sh\n') }],
  ['trailing-data', [], { after: Buffer.from('x') }],
  ['hidden-data', [], { between: Buffer.from('hidden') }],
];

describe('X-08 hostile archives', () => {
  test.each(ATTACKS)('%s: is refused, and nothing of it stays %#', async (reason, items, whole) => {
    const { as, expectUntouched } = ground();
    const attempt = publish(as('a'), makeZip([...skillItems(), ...items], whole));
    const error = await attempt.then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(SkillboxError);
    expect((error as SkillboxError).details.reason, (error as SkillboxError).message).toBe(reason);
    expect([413, 422]).toContain((error as SkillboxError).status);
    expect((error as SkillboxError).message).not.toMatch(/[\0-\x1f\u202a-\u202e]|uploads|\.part/);
    await expectUntouched();
  });

  test('100,000 entries, and a file that is no zip', async () => {
    const { as, expectUntouched } = ground();
    const many = Array.from({ length: 100_000 }, (_, at): Item => ({ name: `f${at}` }));
    await refused(publish(as('a'), makeZip([...skillItems(), ...many], { zip64: {} })), 'ARCHIVE_TOO_LARGE');
    for (const bytes of [Buffer.from('hello'), Buffer.alloc(100_000), Buffer.from('\x1f\x8b\x08')])
      await refused(publish(as('a'), bytes), 'ARCHIVE_UNSAFE');
    await expectUntouched();
  });

  test('an archive with any byte changed is published as what it says, or refused with a typed error', async () => {
    const { as } = ground();
    const zip = skillZip();
    const cut = fc.tuple(
      fc.nat({ max: zip.length - 1 }),
      fc.integer({ min: 1, max: 255 }),
      fc.nat({ max: zip.length }),
    );
    await fc.assert(
      fc.asyncProperty(cut, async ([at, change, length]) => {
        const bytes = Buffer.from(length % 3 === 0 ? zip.subarray(0, length) : zip);
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ change;
        const error = await publish(as('a'), bytes).then(
          () => null,
          (cause: unknown) => cause,
        );
        expect(error === null || (error instanceof SkillboxError && error.status < 500), String(error)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});

const HOSTILE = [
  '../x',
  '-rf',
  '__proto__',
  'latest',
  'a'.repeat(1_000_000),
  '',
  ' ',
  'a/b',
  'a\0b',
  'con',
  'é',
  '%2e%2e',
];

describe('hostile names, versions and tags', () => {
  test.each(HOSTILE.filter(name => name.trim() !== ''))('a skill that calls itself %.20s is refused', async name => {
    const { as, expectUntouched } = ground();
    const quoted = JSON.stringify(name);
    await refused(publish(as('a'), skillZip({ name: quoted })), 'INVALID_SKILL');
    await refused(publish(as('a'), plainZip(quoted, '1.0.0')), 'INVALID_SKILL');
    await expectUntouched();
  });

  test('a version that is none, by the skill and by the caller', async () => {
    const { as, expectUntouched } = ground();
    const huge = '99999999999999999999.0.0';
    for (const version of [...HOSTILE.filter(one => one.trim() !== ''), 'v1.0.0', '1.0', '^1.0.0', '01.0.0']) {
      await refused(publish(as('a'), skillZip({ version: JSON.stringify(version) })), 'INVALID_SKILL');
      await refused(publish(as('a'), plainZip('plain', null), { version }), 'VERSION_MISSING');
    }
    await refused(publish(as('a'), skillZip({ version: huge })), 'VERSION_MISSING');
    await refused(publish(as('a'), plainZip('plain', null), { version: huge }), 'VERSION_MISSING');
    await expectUntouched();
  });

  test('a tag that reads as something else', async () => {
    const { as, expectUntouched } = ground();
    const tags = [...HOSTILE, '1', '1.0.0', 'v1', 'x', 'X', '*', '^1', '1.x', 'Stable', 'a b', 'a--b', '-a'].filter(
      tag => tag !== 'con',
    );
    for (const tag of tags) await refused(publish(as('a'), skillZip(), { tags: [tag] }), 'USAGE');
    await expectUntouched();
    await publish(as('a'), skillZip());
    for (const tag of tags) await refused(as('a').tag('word-count', tag, '1.0.0'), 'USAGE');
    expect((await as('a').tag('word-count', 'constructor', '1.0.0')).tags).toEqual(['constructor']);
  });

  test('a fault that quotes a long text is told shortly', async () => {
    const { as } = ground();
    for (const length of [5000, 50_000, 500_000]) {
      const zip = skillZip({ name: 'A'.repeat(length), version: 'B'.repeat(length) });
      const error = await refused(publish(as('a'), zip), 'INVALID_SKILL');
      expect(JSON.stringify(error.details).length).toBeLessThan(5000);
    }
  });

  test('what cannot be is not even asked of the store', async () => {
    const { as, parts } = ground();
    const asked = () => {
      throw new Error('the store was asked');
    };
    parts.rows = { ...parts.rows, get: asked, versions: asked };
    for (const name of HOSTILE) {
      await refused(as('a').resolve(name, null), 'NOT_FOUND');
      await refused(as('a').versions(name), 'NOT_FOUND');
      await refused(as('a').yank(name, '1.0.0', ''), 'NOT_FOUND');
      await refused(as('a').untag(name, 'stable'), 'NOT_FOUND');
    }
  });

  test('whoever asks for what cannot be gets 404, whatever they ask', async () => {
    const registry = ground().as('a');
    await publish(registry, skillZip());
    for (const name of [...HOSTILE, 'constructor', 'nothing']) {
      for (const act of [
        registry.versions(name),
        registry.resolve(name, null),
        registry.describe(name, '1.0.0'),
        registry.download(name, '^1'),
        registry.yank(name, '1.0.0', ''),
        registry.unyank(name, '1.0.0'),
        registry.tag(name, 'stable', '1.0.0'),
        registry.untag(name, 'stable'),
        registry.diff(name, '1.0.0', '1.0.0'),
      ])
        await refused(act, 'NOT_FOUND');
    }
    for (const version of HOSTILE.filter(one => !['latest', '', ' '].includes(one))) {
      await refused(registry.resolve('word-count', version), 'NOT_FOUND');
      await refused(registry.yank('word-count', version, ''), 'NOT_FOUND');
      await refused(registry.tag('word-count', 'stable', version), 'NOT_FOUND');
      await refused(registry.untag('word-count', version), 'NOT_FOUND');
    }
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), async (name, wanted) => {
        await registry.resolve(name, wanted).catch(error => expect(error.code).toBe('NOT_FOUND'));
        await registry.resolve('word-count', wanted).catch(error => expect(error.code).toBe('NOT_FOUND'));
      }),
    );
  });
});

test('however many read of one archive at once, and however slowly, it lies aside once', async () => {
  const { as, directory } = ground();
  const uploads = join(directory, 'uploads');
  const long = 'x'.repeat(2 * 1024 ** 2);
  const files = [
    { name: 'long.txt', content: long },
    { name: 'short.txt', content: 'hi' },
  ];
  await publish(as('a'), skillZip({ files }));
  await publish(as('b'), skillZip({ files }));
  const readers = await Promise.all(
    ['a', 'a', 'a', 'b', 'b'].map(async tenant => {
      const { content } = await as(tenant).file('word-count', '1.0.0', 'long.txt');
      const reader = content[Symbol.asyncIterator]();
      await reader.next();
      return reader;
    }),
  );
  expect(readdirSync(uploads)).toHaveLength(1);
  const [first, ...others] = readers;
  for (const reader of others) await reader.return?.();
  // The others have gone; who is still reading reads on, and whoever comes now reads too.
  let text = '';
  const short = await as('b').file('word-count', '1.0.0', 'short.txt');
  for await (const piece of short.content) text += Buffer.from(piece).toString();
  expect(text).toBe('hi');
  let bytes = 0;
  while (first !== undefined) {
    const { done, value } = await first.next();
    if (done === true) break;
    bytes += value.length;
  }
  expect(bytes).toBeGreaterThan(long.length / 2);
  await vi.waitFor(() => expect(readdirSync(uploads)).toEqual([]));
});

test('SK-15 what a killed process left of an upload goes with the next one; of a living one it stays', async () => {
  const { as, directory } = ground();
  const uploads = join(directory, 'uploads');
  await mkdir(uploads);
  for (const writer of ['dead-1', 'living']) writeFileSync(join(uploads, `.${writer}.${'0'.repeat(36)}.part`), 'x');
  await publish(as('a'), skillZip());
  expect(readdirSync(uploads)).toEqual([`.living.${'0'.repeat(36)}.part`]);
});
