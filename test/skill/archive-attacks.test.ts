import { writeFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openArchive } from '../../src/skill/index.ts';
import { expectRefused, SKILL } from './attack.ts';
import { type Item, makeZip } from './make-zip.ts';
import { scratch } from './scratch.ts';

test('X-08 the archive on which the attacks are built is accepted without them', async () => {
  const path = `${scratch()}/a.zip`;
  writeFileSync(path, makeZip([SKILL, { name: 'x', content: 'y', method: 8 }]));
  (await openArchive(path)).close();
});

describe('X-08 names that lead elsewhere, or are something else elsewhere', () => {
  const names: [string, string | Buffer][] = [
    ['parent', '../evil'],
    ['parent inside', 'a/../../evil'],
    ['absolute', '/etc/passwd'],
    ['drive letter', 'C:/evil'],
    ['drive relative', 'c:evil'],
    ['UNC', '//server/share/evil'],
    ['UNC with backslashes', '\\\\server\\share'],
    ['backslash', '..\\evil'],
    ['dot segment', './evil'],
    ['empty segment', 'a//evil'],
    ['empty', ''],
    ['only a slash', '/'],
    ['newline', 'a\nb'],
    ['escape sequence', '\x1b]0;title\x07'],
    ['NUL', 'SKILL.md\0.txt'],
    ['bidi override', '\u202egpj.sh'],
    ['zero width', 'SKILL\u200b.md'],
    ['invalid UTF-8', Buffer.from([0x61, 0xff, 0xfe])],
    ['overlong UTF-8 for ../', Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x61])],
    ['surrogate in UTF-8', Buffer.from([0xed, 0xa0, 0x80])],
    ['CP437', Buffer.from([0x82, 0x2e, 0x74])],
    ['Windows device', 'aux.md'],
    ['alternate data stream', 'SKILL.md:evil'],
    ['trailing dot', 'SKILL.md.'],
    ['deep', Array(20).fill('d').join('/')],
    ['long segment', 'x'.repeat(256)],
    ['long path', 'abcdefg/'.repeat(12).concat('x'.repeat(250), '/').repeat(4)],
    ['64 KiB', 'x'.repeat(65_535)],
  ];
  test.each(names)('%s', async (_title, name) => {
    await expectRefused('name', [SKILL, { name, content: 'x' }]);
    // A flag that says that the name is not UTF-8 changes nothing.
    await expectRefused('name', [SKILL, { name, content: 'x', flags: 0 }]);
  });

  test('as a directory entry, or in an ignored tree', async () => {
    await expectRefused('name', [SKILL, { name: '../evil/', mode: 0o040755 }]);
    await expectRefused('name', [SKILL, { name: 'node_modules/../../evil', content: 'x' }]);
    await expectRefused('name', [SKILL, { name: '__MACOSX/../../evil', content: 'x' }]);
  });

  test('too deep only after the top folder is taken away', async () => {
    const deep = (levels: number) => ['top', ...Array<string>(levels - 1).fill('d'), 'f'].join('/');
    const error = await expectRefused('name', [{ name: 'top/SKILL.md' }, { name: deep(17) }]);
    expect(error.message).toContain('deeper');
    const path = `${scratch()}/a.zip`;
    writeFileSync(path, makeZip([{ name: 'top/SKILL.md' }, { name: deep(16) }]));
    (await openArchive(path)).close();
    // Without a top folder the seventeenth level is one too many.
    await expectRefused('name', [{ name: 'SKILL.md' }, { name: deep(16) }]);
  });

  test('the entry is named in the error, cut and made visible', async () => {
    const error = await expectRefused('name', [{ name: `\x1b[31m${'x'.repeat(5000)}` }]);
    expect(error.message).toContain('<U+001B>[31mxxx');
    expect(String(error.details.entry).length).toBeLessThan(300);
  });
});

describe('X-08 names that meet', () => {
  const pairs: [string, string][] = [
    ['SKILL.md', 'SKILL.md'],
    ['README.md', 'readme.md'],
    ['\u00e9', 'e\u0301'],
    ['a', 'a/b'],
    ['a/b', 'a'],
    ['A/x', 'a/y'],
    ['a', 'A/'],
    ['\u017fkill', 'SKILL'],
    ['node_modules/a', 'node_modules/A'],
  ];
  test.each(pairs)('%j and %j', async (a, b) => {
    const item = (name: string): Item => (name.endsWith('/') ? { name, mode: 0o040755 } : { name, content: name });
    await expectRefused('collision', [item(a), item(b)]);
  });
});

describe('X-08 entries that are no plain files', () => {
  test.each([
    ['symbolic link', 0o120777, 'link'],
    ['FIFO', 0o010644, 'special-file'],
    ['character device', 0o020644, 'special-file'],
    ['block device', 0o060644, 'special-file'],
    ['socket', 0o140644, 'special-file'],
    ['directory without a slash', 0o040755, 'special-file'],
  ] as const)('%s', async (_title, mode, reason) => {
    await expectRefused(reason, [SKILL, { name: 'x', content: '/etc/passwd', mode }]);
    // Whatever system the archive claims to come from.
    await expectRefused(reason, [SKILL, { name: 'x', content: '/etc/passwd', mode, madeBy: 0 }]);
    await expectRefused(reason, [SKILL, { name: 'node_modules/x', content: '/etc/passwd', mode }]);
  });

  test('a link whose name says directory', async () => {
    await expectRefused('link', [SKILL, { name: 'x/', content: '', mode: 0o120777 }]);
  });

  test('a directory with content, or by its DOS attribute only', async () => {
    await expectRefused('special-file', [SKILL, { name: 'x/', content: 'hidden', mode: 0o040755 }]);
    await expectRefused('special-file', [
      SKILL,
      { name: 'x/', packed: Buffer.from('hid'), size: 0, packedSize: 3, crc: 0, method: 8 },
    ]);
    await expectRefused('special-file', [SKILL, { name: 'x', content: '', dos: 0x10 }]);
  });

  test('encrypted, patched and masked members', async () => {
    for (const flags of [0x801, 0x820, 0x2800]) await expectRefused('encrypted', [{ ...SKILL, flags }]);
    await expectRefused('central-directory', [{ ...SKILL, flags: 0x840 }]);
  });

  test.each([1, 6, 9, 12, 14, 93, 95, 99])('compression method %i', async method => {
    await expectRefused('method', [{ ...SKILL, method }]);
  });
});

describe('X-08 bombs', () => {
  const zeros = deflateRawSync(Buffer.alloc(3 * 1024 ** 2));

  test('a ratio that no honest file has', async () => {
    const error = await expectRefused('ratio', [
      SKILL,
      { name: 'bomb', content: Buffer.alloc(3 * 1024 ** 2), method: 8 },
    ]);
    expect(error.code).toBe('ARCHIVE_TOO_LARGE');
  });

  test('a size that lies: more, less, and a stored one', async () => {
    await expectRefused('size', [SKILL, { name: 'bomb', packed: zeros, method: 8, size: 5000 }]);
    await expectRefused('size', [SKILL, { name: 'bomb', packed: zeros, method: 8, size: 300_000 }]);
    await expectRefused('size', [SKILL, { name: 'short', content: 'abc', method: 8, size: 4 }]);
    const noise = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * at) % 253));
    await expectRefused('size', [SKILL, { name: 'short', content: noise, method: 8, size: 100_001 }]);
    await expectRefused('size', [SKILL, { name: 'stored', content: 'abc', size: 4 }]);
  });

  test('a size that lies stops the unpacking, not only its result', async () => {
    // The broken end of the data is never reached.
    const packed = Buffer.concat([zeros.subarray(0, -20), Buffer.alloc(20, 0xff)]);
    await expectRefused('size', [SKILL, { name: 'bomb', packed, method: 8, size: 300_000 }]);
  });

  test('a total over the limit, as sizes say it and as they hide it', async () => {
    const items = Array.from({ length: 10 }, (_, at) => ({ name: `f${at}`, content: 'x'.repeat(1000) }));
    const error = await expectRefused('bytes', items, {}, { maxBytes: 9999 });
    expect(error.code).toBe('ARCHIVE_TOO_LARGE');
    const path = `${scratch()}/a.zip`;
    writeFileSync(path, makeZip(items));
    (await openArchive(path, { maxBytes: 10_000 })).close();
    await expectRefused('bytes', [{ name: 'f', content: 'x', method: 8, size: 900 * 1024 }], {}, { maxBytes: 1000 });
  });

  test('entries that share their data', async () => {
    const kernel: Item = { name: 'a', content: 'x'.repeat(1000), method: 8 };
    await expectRefused('local-header', [kernel, { ...kernel, name: 'b', offset: 0 }]);
    // With the same name in both headers, the second is a duplicate before it is an overlap.
    await expectRefused('collision', [kernel, { ...kernel, offset: 0 }]);
    // A local header inside the data of another entry (quoting).
    const inner = makeZip([{ name: 'b', content: 'payload' }]);
    const start = 30 + 1;
    await expectRefused('overlap', [
      { name: 'a', content: inner },
      { name: 'b', content: 'payload', offset: start, packed: Buffer.alloc(0), packedSize: 7 },
    ]);
  });

  test('100,000 entries', async () => {
    const items = Array.from({ length: 100_000 }, (_, at): Item => ({ name: `f${at}` }));
    const error = await expectRefused('entries', items, { zip64: {} });
    expect(error.code).toBe('ARCHIVE_TOO_LARGE');
    await expectRefused('entries', items.slice(0, 11), {}, { maxFiles: 5 });
    await expectRefused('entries', items.slice(0, 6), {}, { maxFiles: 5 });
  });

  test('an ignore file that is built to take long', async () => {
    const names = Array.from({ length: 300 }, (_, at): Item => ({ name: `${'a'.repeat(240)}${at}` }));
    await expectRefused('entries', [
      { name: '.skillboxignore', content: `*${'?'.repeat(60)}b\n`.repeat(1000) },
      ...names,
    ]);
  });

  test('much data for little content', async () => {
    const flood = Buffer.concat([Buffer.alloc(50_000), deflateRawSync('x')]);
    await expectRefused('size', [SKILL, { name: 'x', content: 'x', method: 8, packed: flood }]);
  });
});
