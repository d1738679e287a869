import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSkill } from '../../src/dialects/index.ts';
import { type DiffSide, diffSkills, digestFiles, type Hunk } from '../../src/skill/diff.ts';
import { diffText } from '../../src/skill/diff-text.ts';
import { openDirectory } from '../../src/skill/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const root = tempDirectory();
let count = 0;

async function side(files: Record<string, string | Buffer>): Promise<DiffSide> {
  const folder = openDirectory(writeFiles(join(root, String(count++), 'demo'), files));
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  return { skill, folder, digests: await digestFiles(folder) };
}

async function diff(before: Record<string, string | Buffer>, after: Record<string, string | Buffer>) {
  return diffSkills(await side(before), await side(after));
}

const document = (fields: string, body = 'Read.\n') => `---\nname: demo\ndescription: Shows.\n${fields}---\n\n${body}`;
const plenty = () => ({ left: 1_000_000 });
const render = (hunks: readonly Hunk[]): string[] =>
  hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines.map(
      ({ kind, text, ended }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}${ended ? '' : '\\'}`,
    ),
  ]);

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** What `patch` would make of it. */
function apply(before: string, hunks: readonly Hunk[]): string {
  const old = linesOf(before);
  const out: string[] = [];
  let at = 0;
  for (const hunk of hunks) {
    const start = hunk.oldLines === 0 ? hunk.oldStart : hunk.oldStart - 1;
    out.push(...old.slice(at, start));
    expect(hunk.newLines === 0 ? hunk.newStart : hunk.newStart - 1).toBe(out.length);
    at = start;
    for (const { kind, text, ended } of hunk.lines) {
      const line = ended ? `${text}\n` : text;
      if (kind !== 'added') expect(old[at++]).toBe(line);
      if (kind !== 'removed') out.push(line);
    }
  }
  return [...out, ...old.slice(at)].join('');
}

describe('text', () => {
  test('is shown as unified hunks with three lines around a change', () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`);
    const changed = lines.with(4, 'five\n').toSpliced(15, 1);
    const first = [
      '@@ -2,7 +2,7 @@',
      ' line 2',
      ' line 3',
      ' line 4',
      '-line 5',
      '+five',
      ' line 6',
      ' line 7',
      ' line 8',
    ];
    const second = [
      '@@ -13,7 +13,6 @@',
      ' line 13',
      ' line 14',
      ' line 15',
      '-line 16',
      ' line 17',
      ' line 18',
      ' line 19',
    ];
    const { hunks } = diffText(lines.join(''), changed.join(''), plenty());
    expect(render(hunks)).toEqual([...first, ...second]);
  });

  test('changes near each other share a hunk', () => {
    const { hunks } = diffText('1\n2\n3\n4\n5\n6\n7\n8\n', 'x\n2\n3\n4\n5\n6\n7\ny\n', plenty());
    expect(hunks.map(({ oldStart, oldLines }) => [oldStart, oldLines])).toEqual([[1, 8]]);
  });

  test('a missing newline at the end is a difference', () => {
    expect(render(diffText('a\nb\n', 'a\nb', plenty()).hunks)).toEqual(['@@ -1,2 +1,2 @@', ' a', '-b', '+b\\']);
    expect(render(diffText('', 'a\n', plenty()).hunks)).toEqual(['@@ -0,0 +1,1 @@', '+a']);
    expect(diffText('same\n', 'same\n', plenty()).hunks).toEqual([]);
  });

  test('the hunks turn one text into the other, by as few lines as there are', () => {
    const line = fc.constantFrom('a', 'b', 'c', '', '}', 'a\r', 'd d');
    const text = fc
      .tuple(fc.array(line, { maxLength: 25 }), fc.constantFrom('', '\n'))
      .map(([lines, end]) => lines.join('\n') + end);
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { hunks, minimal } = diffText(before, after, plenty());
        expect(apply(before, hunks)).toBe(after);
        expect(minimal).toBe(true);
        const edits = hunks.flatMap(hunk => hunk.lines).filter(({ kind }) => kind !== 'same').length;
        expect(edits).toBe(shortest(before, after));
      }),
      { numRuns: 300 },
    );
  });

  test('without enough work left it is still right, and says that it may not be the shortest', () => {
    const before = Array.from({ length: 3000 }, (_, index) => `a${index}\n`).join('');
    const after = Array.from({ length: 3000 }, (_, index) => `b${index}\n`).join('');
    const many = diffText(`x\n${before}y\n`, `x\n${after}y\n`, { left: Number.POSITIVE_INFINITY });
    expect([many.minimal, many.hunks.length]).toEqual([false, 1]);
    expect(apply(`x\n${before}y\n`, many.hunks)).toBe(`x\n${after}y\n`);
    const work = { left: 2 };
    const poor = diffText('a\nb\nc\n', 'c\nb\na\n', work);
    expect([poor.minimal, apply('a\nb\nc\n', poor.hunks)]).toEqual([false, 'c\nb\na\n']);
  });
});

/** By the table, as everybody learns it. */
function shortest(before: string, after: string): number {
  const [a, b] = [linesOf(before), linesOf(after)];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const line of a) {
    const next = [(row[0] ?? 0) + 1];
    b.forEach((other, index) => {
      const same = line === other ? (row[index] ?? 0) : Number.POSITIVE_INFINITY;
      next.push(Math.min(same, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    });
    row = next;
  }
  return row[b.length] ?? 0;
}

describe('fields', () => {
  test('are named one by one, with both values', async () => {
    const { fields } = await diff(
      { 'SKILL.md': document('license: MIT\nmetadata:\n  a: 1\n  b: 2\n') },
      { 'SKILL.md': document('allowed-tools: Read\nmetadata:\n  a: 1\n  b: 3\n  c: 4\n') },
    );
    expect(fields).toEqual([
      { field: 'needs.allowedTools', change: 'changed', before: [], after: [{ tool: 'Read', pattern: null }] },
      { field: 'about.license', change: 'changed', before: 'MIT', after: null },
      { field: 'about.metadata.b', change: 'changed', before: '2', after: '3' },
      { field: 'about.metadata.c', change: 'added', before: null, after: '4' },
    ]);
  });

  test('GB-18 a changed command is a field; the line it stands on is not', async () => {
    const tool = (name: string, command: string) =>
      `### ${name}\n\nDoes.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n\`\`\`\n${command}\n\`\`\`\n\n`;
    const skill = (body: string) => ({ 'SKILL.md': document('version: 1.0.0\n', body) });
    const { fields } = await diff(
      skill(`${tool('one', 'ls')}${tool('two', 'pwd')}`),
      skill(`Text above.\n\n${tool('one', 'ls -l')}${tool('three', 'pwd')}`),
    );
    expect(
      fields
        .filter(({ field }) => field !== 'instructions')
        .map(({ field, change, before, after }) => [field, change, before, after]),
    ).toEqual([
      ['tools.one.template', 'changed', 'ls', 'ls -l'],
      ['tools.two', 'removed', expect.objectContaining({ template: 'pwd' }), null],
      ['tools.three', 'added', null, expect.objectContaining({ template: 'pwd' })],
    ]);
  });

  test('a skill that does not load has none; its files are compared all the same', async () => {
    const { fields, files, equal } = await diff({ 'SKILL.md': document('') }, { 'SKILL.md': 'no frontmatter\n' });
    expect([fields, files.map(({ path }) => path), equal]).toEqual([[], ['SKILL.md'], false]);
  });
});

describe('files', () => {
  const base = { 'SKILL.md': document('') };

  test('X-10 equal content is equal, whatever its folder is called', async () => {
    expect(await diff(base, base)).toEqual({ equal: true, fields: [], files: [] });
  });

  test('added, removed, changed, and of another mode, in the order of their paths', async () => {
    const before = { ...base, 'b.txt': 'b\n', 'c.txt': 'c\n', 'scripts/d.sh': 'd\n', 'e.sh*': 'e\n' };
    const after = {
      ...base,
      'a.txt': 'a\n',
      'c.txt': 'C\n',
      'scripts/d.sh*': 'd\n',
      'scripts/new.sh': 'n\n',
      'e.sh': 'E\n',
    };
    const { files, fields } = await diff(before, after);
    expect(files.map(({ path, change, content }) => [path, change, content.kind])).toEqual([
      ['a.txt', 'added', 'text'],
      ['b.txt', 'removed', 'text'],
      ['c.txt', 'changed', 'text'],
      ['e.sh', 'changed', 'text'],
      ['scripts/d.sh', 'mode', 'same'],
      ['scripts/new.sh', 'added', 'text'],
    ]);
    expect([files[3]?.before?.executable, files[3]?.after?.executable]).toEqual([true, false]);
    expect(fields).toEqual([]);
  });

  test('what is not text is told apart by size and digest', async () => {
    const bytes = (last: number) => Buffer.from([1, 0, last]);
    const { files } = await diff(
      { ...base, 'a.bin': bytes(1) },
      { ...base, 'a.bin': bytes(2), 'latin1.txt': Buffer.from([0xe9]) },
    );
    expect(files.map(({ path, content }) => [path, content.kind])).toEqual([
      ['a.bin', 'binary'],
      ['latin1.txt', 'binary'],
    ]);
    expect(files[0]?.before?.digest).not.toBe(files[0]?.after?.digest);
  });

  test('what is too large, by bytes or by lines, is not compared line by line', async () => {
    const { files } = await diff(base, { ...base, 'bytes.txt': 'x'.repeat(300_000), 'lines.txt': '\n'.repeat(30_000) });
    expect(files.map(({ path, content }) => [path, content.kind])).toEqual([
      ['bytes.txt', 'large'],
      ['lines.txt', 'large'],
    ]);
  });

  test('many large texts are compared up to a total, and named beyond it', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`${index}.txt`, `${'x'.repeat(250_000)}\n`]),
    );
    const { files } = await diff(base, { ...base, ...many });
    const kinds = files.map(({ content }) => content.kind);
    expect([kinds.length, kinds[0], kinds.at(-1)]).toEqual([40, 'text', 'large']);
  });
});
