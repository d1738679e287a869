import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildScanner } from '../../scripts/build-helper.mjs';
import { ProgramLookAhead } from '../../src/catalog/look-ahead.ts';
import { plainSummary } from '../../src/dialects/summary.ts';
import { tempDirectory } from '../temp.ts';

let program = '';
beforeAll(() => {
  program = buildScanner();
});

type Said = { name: string; description: string } | null;

/** What the program says about files of these contents, each in a folder of its own below `root`, where others may be. */
function saidByProgram(files: readonly Buffer[], root = tempDirectory()): Said[] {
  const names = files.map((_bytes, index) => `f-${String(index).padStart(6, '0')}`);
  names.forEach((name, index) => {
    mkdirSync(join(root, name), { recursive: true });
    // Written anew: some file systems wait for the disk when a file is emptied.
    rmSync(join(root, name, 'SKILL.md'), { force: true });
    writeFileSync(join(root, name, 'SKILL.md'), files[index] ?? '');
  });
  const reader = new ProgramLookAhead(program, 1).open(root, names.length, 60_000);
  const said = names.map(name => {
    const ahead = reader.next(name);
    // Every folder is answered: otherwise nothing is compared.
    expect(ahead?.kind === 'folder' ? ahead.record.files : ahead?.files).toEqual(['SKILL.md']);
    if (ahead?.kind !== 'plain') return null;
    const { name: own, description } = ahead.summary;
    return { name: own, description };
  });
  reader.close();
  return said;
}

function saidByUs(bytes: Buffer): Said {
  const summary = plainSummary(bytes);
  return summary === null ? null : { name: summary.name, description: summary.description };
}

/** The program may leave more to us (files with a heading as tools have it), and it never says anything else. */
function expectSame(files: readonly Buffer[], root = tempDirectory()): number {
  const said = saidByProgram(files, root);
  files.forEach((bytes, index) => {
    const own = bytes.includes('####') ? null : saidByUs(bytes);
    expect({ text: bytes.toString('latin1'), said: said[index] }).toEqual({
      text: bytes.toString('latin1'),
      said: own,
    });
  });
  return said.filter(each => each !== null).length;
}

const head = (...lines: string[]) => Buffer.from(`---\n${lines.join('\n')}\n---\n# Body\n`);
const raw = (text: string) => Buffer.from(text, 'latin1');

describe('X-01 skillbox-scan reads a plain head as src/dialects/plain-head.ts does', () => {
  test('plain ones, of every kind', () => {
    const files = [
      head('name: a', 'description: Does things. Use when asked (or not):no, yes#1.'),
      head('', 'name: a', '', 'description: "it is: fine # really"', 'license: MIT'),
      head("name: 'a-b-1'", 'description: 处理 — Überprüft 📄 dies × 2'),
      head('name: " a "', 'description: "  inside  "', 'allowed-tools: Read Grep Bash(git:*)'),
      head('name: a', 'description: >-', '  Folds over: this', '  and # that.', 'compatibility: Node 22'),
      head('name: a', 'description: >', '  Folds.'),
      head('name: >-', '  a', 'description: |', '    Keeps', '    lines.'),
      head('name: a', 'description: |-', ' é', ' 📄'),
      head('metadata:', '  author: x', '  version: "1.0"', '  _a-9: é', 'name: a', 'description: b'),
      head('description: b', 'metadata: none', 'name: a'),
      head(`name: ${'a'.repeat(64)}`, 'description: É.'),
      head('name: f-000011', 'description: As its folder.'),
      head('name: a', `description: ${'x'.repeat(16_000)}`),
    ];
    expect(expectSame(files)).toBe(files.length);
  });

  test('and none that is not', () => {
    const close = '\n---\n';
    const files = [
      '',
      '-',
      '---',
      '---\n',
      '---\n\n---\n',
      '---\n---\n',
      '---\nname: a\ndescription: b',
      '---\nname: a\ndescription: b\n---',
      '--- \nname: a\ndescription: b\n---\n',
      '---\r\nname: a\r\ndescription: b\r\n---\r\n',
      ' ---\nname: a',
      '---\nname: a\ndescription: b\r\n---\n',
      '\xef\xbb\xbf---\nname: a\ndescription: b\n---\n',
      '---\nname: a\0\ndescription: b\n---\n',
      '---\nname: a\ndescription: b\0c\n---\n',
      '\0',
      '---\n\0',
      // No UTF-8: a stray byte, cut short, written too long, half a pair, beyond the last.
      ...[
        '\xff',
        '\x80',
        '\xc3',
        '\xc3 x',
        '\xe2\x82',
        '\xf0\x9f\x93',
        '\xc0\xaf',
        '\xe0\x80\xaf',
        '\xed\xa0\x80',
        '\xf4\x90\x80\x80',
      ].flatMap(bytes => [
        `---\nname: a\ndescription: b${bytes}${close}`,
        `---\nname: a\ndescription: ${bytes}${close}`,
        `---\nname: a\ndescription: "${bytes}"${close}`,
        `---\nname: a\ndescription: |\n ${bytes}${close}`,
      ]),
    ].map(raw);
    const lines = [
      ['name: a'],
      ['description: b'],
      ['name: a', 'description: b', 'version: 1.0.0'],
      ['name: a', 'description: b', 'name: c'],
      ['Name: a', 'description: b'],
      ['name: A', 'description: b'],
      ['name: -a', 'description: b'],
      ['name: a-', 'description: b'],
      ['name: a--b', 'description: b'],
      ['name: "-"', 'description: b'],
      ['name: null', 'description: b'],
      [`name: ${'a'.repeat(65)}`, 'description: b'],
      ['name: é', 'description: b'],
      ...[
        'Use when: asked',
        'b #c',
        'b:',
        'b ',
        ' ',
        '',
        'b\n  c',
        '"x\\n"',
        '"x" y',
        "'x''y'",
        '""',
        '" "',
        'null',
        'NULL',

        '12',
        'b\tc',
        'b\u007f',
        '"b\u007f"',
        'b\u00a0',
        '\u2028b',
        'b\u0085c',
        '\u3000b',
        '\ufeffb',
        'b\ufffd',
        'b\uffff',
        '&a b',
        '*a',
        '!t b',
        '[b]',
        '{b}',
        '%b',
        '@b',
        '`b`',
        '~',
        '? b',
        '- b',
        '📄 first',
        '…b',

        '>-\n  b\n\n  c',
        '>-\n  b\n   c',
        '>-\n  b\n c',
        '>+\n  b',
        '>-2\n  b',
        '>-',
        '>- \n  b',
        '>-\n  b ',
        '>-\n  \tb',
        '|\n  b\n',
      ].map(value => ['name: a', `description: ${value}`]),
      ['name: a', 'description:b'],
      ['name: a', 'description:', '  b: c'],
      ...[
        '  a: b\n  a: c',
        '  a: b\n c: d',
        '  a: b\n   c: d',
        '  a:\n    b: c',
        '  __proto__: c',
        '  true: c',
        '',
        '  a',
        '  a:b',
        '  9a: b',
        '  a b: c',
        '  a: >-\n    b',
        '  a: b # c',
        '  é: b',
        `  ${'k'.repeat(65)}: b`,
        '  k: v\n\n  l: w',
      ].map(map => ['name: a', 'description: b', `metadata:\n${map}`]),
      ['name: a', 'description: b', 'license: [MIT'],
      ['name: a', 'description: b', '...'],
      ['name: a', 'description: b', '# comment'],
      ['name: a', 'description: b', '----'],
    ].map(each => head(...each));
    const odd = [
      Buffer.from(`---\nname: a\ndescription: b\n---\n#### Tool\n`),
      Buffer.from(`---\nname: a\ndescription: b\n${'\n'.repeat(17_000)}---\n`),
      Buffer.from(`---\nname: a\nlicense: ${'x'.repeat(20_000)}\ndescription: b\n---\n`),
      Buffer.from(`---\nname: a\ndescription: ${'x'.repeat(90_000)}`),
    ];
    expect(expectSame([...files, ...lines, ...odd])).toBe(0);
  });

  test('a mapping of very many words is left to us', () => {
    const words = Array.from({ length: 40 }, (_, index) => `  k${index}: v`);
    const file = head('name: a', 'description: b', 'metadata:', ...words);
    expect([saidByUs(file), saidByProgram([file])]).toEqual([{ name: 'a', description: 'b' }, [null]]);
  });

  test('whatever the text is', () => {
    const odd =
      '- : # " \' \\ \n | > >- |- null true 1.2 [a] { & * ! % @ ` ~ --- ... \r \t \0 é 处 📄 × … \u00a0 \u2028 \ufeff \u0085 \u3000 \ufffd \u007f';
    const piece = fc.constantFrom(...odd.split(' '), ' ', '  ', ': ', ' #', '\n  ', '\n\n', '\n ');
    const plain = fc.constantFrom('a', 'b c', 'Use it.', '-', '"', "'", '>-\n  ', '|\n ', '\n  ', ' ');
    const value = fc
      .array(fc.oneof({ weight: 3, arbitrary: plain }, piece), { maxLength: 5 })
      .map(parts => parts.join(''));
    const usual = fc.constantFrom(
      '',
      'license: MIT',
      'metadata:\n  a: b',
      'metadata:\n  a: b\n  c-d: "e"',
      '---',
      '  b',
    );
    const other = fc.tuple(
      fc.constantFrom('license: ', 'metadata:\n  a: ', 'metadata:\n ', 'compatibility:', 'a: '),
      value,
    );
    const more = fc.oneof(
      usual,
      other.map(parts => parts.join('')),
    );
    const name = fc.constantFrom('name: a\n', 'name: "a-b"\n', "name: ' x1'\n", 'name: "a b"\n', 'name: >-\n  a\n', '');
    const text = fc
      .tuple(name, value, more)
      .map(([first, described, last]) => Buffer.from(`---\n${first}description: ${described}\n${last}\n---\nBody\n`));
    // One byte of it is another one, or it ends early.
    const spoilt = fc.tuple(text, fc.nat(), fc.nat(255), fc.boolean()).map(([bytes, at, byte, cut]) => {
      const position = at % bytes.length;
      if (cut) return bytes.subarray(0, position);
      bytes[position] = byte;
      return bytes;
    });
    let taken = 0;
    const root = tempDirectory();
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 2, arbitrary: text }, spoilt), { minLength: 1000, maxLength: 1000 }),
        files => {
          taken += expectSame(files, root);
        },
      ),
      { numRuns: 20, endOnFailure: true },
    );
    // Otherwise this test says nothing.
    expect(taken).toBeGreaterThan(500);
  }, 120_000);
});
