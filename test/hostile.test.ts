import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readHeader, readSkill } from '../src/dialects/index.ts';
import { CODES, openDirectory } from '../src/skill/index.ts';
import { tempDirectory, writeFiles } from './temp.ts';

/** attacks: manifests, Markdown, templates. Whatever a file holds, reading ends with typed diagnostics. */
function read(text: string | Buffer, more: Record<string, string> = {}) {
  const path = writeFiles(join(tempDirectory(), 'skill'), { 'SKILL.md': text, ...more });
  const reading = readSkill(openDirectory(path), { mode: 'strict', dialect: null });
  for (const { code, line, column } of reading.diagnostics) {
    expect(CODES).toHaveProperty(code);
    expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
  }
  return reading;
}

const front = (lines: string) => `---\nname: skill\ndescription: x\n${lines}\n---\n\nBody.\n`;
const codes = (reading: ReturnType<typeof read>) => reading.diagnostics.map(({ code }) => code);

describe('hostile frontmatter', () => {
  test('X-04 an alias bomb is refused', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((key, i) => `${key}: &${key} [${`*${'abcdefgh'[i]},`.repeat(9)}]`),
    ];
    const reading = read(front(bomb.join('\n')));
    expect(reading.skill).toBeNull();
    expect(codes(reading)).toContain('yaml-alias');
  });

  test.each(['__proto__', 'constructor', 'prototype'])('X-04 the key %s is refused and pollutes nothing', key => {
    const reading = read(front(`${key}:\n  polluted: true`));
    expect(reading.skill).toBeNull();
    expect(codes(reading)).toContain('yaml-forbidden-key');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('X-04 20,000 levels of depth end with a diagnostic', () => {
    expect(read(front(`deep: ${'['.repeat(20_000)}${']'.repeat(20_000)}`)).diagnostics.length).toBeGreaterThan(0);
  });

  test('X-04 10 MB of frontmatter, of body, and of both are refused unread', () => {
    expect(codes(read(`---\n${'a: b\n'.repeat(2_000_000)}---\n`))).toContain('skill-md-too-large');
    expect(codes(read(front(`long: ${'x'.repeat(70_000)}`)))).toContain('frontmatter-too-large');
    expect(codes(read(`${front('')}${'x'.repeat(10_000_000)}`))).toContain('skill-md-too-large');
  });

  test('X-04 code in frontmatter is never evaluated', () => {
    const reading = read('---js\n{ name: globalThis.evaluated = "yes", description: "x" }\n---\n');
    expect(reading.skill).toBeNull();
    expect(codes(reading)).toContain('frontmatter-language');
    expect(globalThis).not.toHaveProperty('evaluated');
  });

  test('X-04 custom tags build nothing', () => {
    const reading = read(front('run: !!js/function "function () { return 1 }"'));
    expect(codes(reading)).toContain('yaml-tag');
    expect(reading.skill?.extra.run).toBe('function () { return 1 }');
  });

  test('20,000 keys', () => {
    const keys = Array.from({ length: 6000 }, (_, i) => `k${i}: v`).join('\n');
    expect(read(front(keys)).skill).not.toBeNull();
  });
});

describe('hostile bodies', () => {
  test.each([
    ['100k headings', '# h\n'.repeat(100_000)],
    ['emphasis', '*a_ '.repeat(200_000)],
    ['open brackets', '['.repeat(500_000)],
    ['nested links', `${'[a]('.repeat(100_000)}`],
    ['quotes', `${'>'.repeat(200_000)} x`],
    ['lists', Array.from({ length: 2000 }, (_, i) => `${' '.repeat(Math.min(i, 400))}- x`).join('\n')],
    ['backticks', Array.from({ length: 1000 }, (_, i) => '`'.repeat(i % 300)).join(' ')],
    ['references', '[a]: b\n'.repeat(100_000)],
    ['tables', `|${' a |'.repeat(2000)}\n|${'-|'.repeat(2000)}\n${`|${' b |'.repeat(2000)}\n`.repeat(50)}`],
    ['entities', '&#x110000;'.repeat(80_000)],
    ['html', '<a '.repeat(200_000)],
  ])('%s', (_name, body) => {
    const reading = read(`${front('')}### t\n\n#### Command\n\n[x](y)\n\n${body}`.slice(0, 1_000_000));
    expect(reading.dialect).toBe('gibberish');
  });
});

describe('hostile folders', () => {
  test('X-08 SKILL.md that is a link out, a directory, or a loop is not read', () => {
    const root = writeFiles(tempDirectory(), { 'secret.md': front('') });
    for (const [name, make] of [
      ['out', (path: string) => symlinkSync('../secret.md', path)],
      ['loop', (path: string) => symlinkSync('SKILL.md', path)],
      ['folder', (path: string) => mkdirSync(path)],
    ] as const) {
      mkdirSync(join(root, name));
      make(join(root, name, 'SKILL.md'));
      const reading = readSkill(openDirectory(join(root, name)), { mode: 'lenient', dialect: null });
      expect(reading.skill, name).toBeNull();
      expect(reading.diagnostics.map(({ code }) => code)).toContain('skill-md-missing');
    }
  });

  test('X-06 who has a SKILL.md that is not taken is told why, not to create one', () => {
    const root = writeFiles(tempDirectory(), {
      'ignored/SKILL.md': front(''),
      'ignored/.skillboxignore': '*.md\n',
      'large/A': 'x'.repeat(100),
      'large/SKILL.md': front(''),
      'none/readme': '',
    });
    mkdirSync(join(root, 'link'));
    symlinkSync('nowhere', join(root, 'link/SKILL.md'));
    const told = (name: string, limits = {}) => {
      const { diagnostics } = readSkill(openDirectory(join(root, name), limits), { mode: 'lenient', dialect: null });
      const { message, hint } = diagnostics.find(({ code }) => code === 'skill-md-missing') ?? {};
      return [message, hint];
    };
    expect(told('link')).toEqual([
      'no SKILL.md was read: SKILL.md is a link that leads nowhere; it is left out',
      'Replace the link by the file itself.',
    ]);
    expect(told('large', { maxBytes: 50 })).toEqual([
      expect.stringMatching(/^no SKILL\.md was read: .*50/),
      expect.stringContaining('Remove what'),
    ]);
    expect(told('ignored')).toEqual([
      'there is no SKILL.md in the folder',
      'Create SKILL.md, or do not name it in .skillboxignore.',
    ]);
    expect(told('none')[1]).toContain('skill init');
  });
});

test('X-02 a thousand fuzzed files: reading never throws, the header agrees with the reader', () => {
  const root = join(tempDirectory(), 'skill');
  mkdirSync(root);
  const path = join(root, 'SKILL.md');
  const piece = fc.oneof(
    fc.constantFrom(
      '---\n',
      '---',
      'name: skill\n',
      'description: ',
      ': ',
      '"',
      "'",
      '\n',
      '\r\n',
      '\t',
      '  ',
      '- ',
      '[',
      '{',
      '}',
      ']',
      '>',
      '|',
      '&a ',
      '*a ',
      '!!x ',
      '# ',
      '### t\n',
      '#### Command\n',
      '```\n',
      '{{x}}',
      '\u0000',
      '\ufeff',
      '\u202e',
      '<!-- x -->\n',
      '<<<<<<< a\n',
      '...\n',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), pieces => {
      writeFileSync(path, `---\n${pieces.join('')}`);
      const { skill } = readSkill(openDirectory(root), { mode: 'lenient', dialect: null });
      if (skill === null || skill.dialect !== 'agent-skills') return;
      const header = readHeader(path);
      expect((header.name ?? 'skill').normalize('NFKC')).toBe(skill.name);
      expect(header.description).toBe(skill.description);
    }),
    { numRuns: 1000 },
  );
});
