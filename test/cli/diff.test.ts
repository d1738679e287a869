import { describe, expect, test } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const document = (version: string, body: string) =>
  `---\nname: demo\nversion: ${version}\ndescription: Shows.\nlang: bash\n---\n\n${body}`;
const cwd = writeFiles(tempDirectory(), {
  'a/SKILL.md': document('1.0.0', 'One.\nTwo.\n'),
  'a/scripts/main.sh': 'echo old\n',
  'a/assets/logo.bin': Buffer.from([0, 1]),
  'a/gone.txt': 'bye\n',
  'b/SKILL.md': document('1.1.0', 'One.\nTwo \u001b[2J.\n'),
  'b/scripts/main.sh*': 'echo new\n',
  'b/assets/logo.bin': Buffer.from([0, 2, 3]),
  'b/new.txt': 'hi',
  'broken/SKILL.md': 'no frontmatter\n',
});
const diff = (...words: string[]) => run(['skill', 'diff', ...words], { cwd });

describe('skill diff', () => {
  test('shows fields, files and text, and exits with 1', async () => {
    const { code, out, err } = await diff('a', 'b');
    expect([code, err]).toEqual([1, '']);
    expect(out).toContain('fields\n  version\n    - 1.0.0\n    + 1.1.0\n  instructions  changed; the text is below\n');
    expect(out).toContain(' One.\n-Two.\n+Two <U+001B>[2J.\n');
    expect(out).toContain('changed assets/logo.bin\n  not text: 2 B sha256:');
    expect(out).toContain('removed gone.txt\n--- a/gone.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-bye\n');
    expect(out).toContain(
      'added new.txt\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+hi\n\\ No newline at end of file\n',
    );
    expect(out).toContain(
      'changed scripts/main.sh\n  now executable\n--- a/scripts/main.sh\n+++ b/scripts/main.sh\n@@ -1,1 +1,1 @@\n-echo old\n+echo new\n',
    );
    expect(out).toMatch(/\n2 fields and 5 files differ \(\+4 -4 lines\)\n$/);
  });

  test('equal skills: exit 0, also a folder and its zip', async () => {
    await run(['skill', 'package', 'a', '-o', 'a.zip', '--version', '1.0.0'], { cwd });
    for (const other of ['a', 'a.zip'])
      expect(await diff('a', other)).toMatchObject({ code: 0, out: 'no difference\n' });
  });

  test('--json prints one document', async () => {
    const { code, out } = await diff('a', 'b', '--json');
    const report = JSON.parse(out);
    expect(code).toBe(1);
    expect(report).toMatchObject({
      a: { path: 'a', dialect: 'skillbox', name: 'demo', version: '1.0.0', loads: true },
      b: { path: 'b', version: '1.1.0', digest: expect.stringMatching(/^sb1-sha256:/) },
      equal: false,
    });
    expect(report.fields[0]).toEqual({ field: 'version', change: 'changed', before: '1.0.0', after: '1.1.0' });
    expect(report.files.map(({ path, change }: { path: string; change: string }) => [path, change])).toContainEqual([
      'new.txt',
      'added',
    ]);
    expect(JSON.parse((await diff('a', 'a', '--json')).out)).toMatchObject({ equal: true, fields: [], files: [] });
  });

  test('X-02 a skill that does not load is compared by its files', async () => {
    const { code, err } = await diff('a', 'broken');
    expect([code, err]).toEqual([1, expect.stringContaining('broken does not load; only its files are compared')]);
    expect((await diff('a', 'nothing')).code).toBe(5);
  });

  test('says its exit codes in the help', async () => {
    expect((await diff('--help')).out).toContain('Exit 0 when they are equal, 1 when they differ');
  });

  test('paints only through the terminal it was given', async () => {
    let out = '';
    const io: Io = {
      out: text => {
        out += text;
      },
      err: () => undefined,
      paint: (style, text) => `<${style}>${text}</${style}>`,
      interactive: false,
      cwd,
      env: {},
      interrupt: new AbortController().signal,
      ask: async (_question, fallback) => fallback,
      askPerson: async () => null,

      askSecret: async () => null,
      readStdin: async () => null,
      columns: 80,
      rows: 24,
    };
    expect(await main(['skill', 'diff', 'a', 'b'], io, '0.0.0')).toBe(1);
    expect(out).toContain('<cyan>@@ -1,1 +1,1 @@</cyan>\n<red>-echo old</red>\n<green>+echo new</green>\n');
    expect(out).not.toContain('\u001b');
  });
});
