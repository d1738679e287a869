import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Question } from '../../src/app.ts';
import { renderQuestion } from '../../src/cli/render-question.ts';
import { widthOf } from '../../src/cli/wrap.ts';

const plain = (_style: string, text: string) => text;
/** Text that a skill or a caller might write to be misread. */
const TRICKS = [
  '\u001b[2J',
  '\u001b]0;x\u0007',
  '\u202e',
  '\u200b',
  '\u0000',
  '\r',
  '\n',
  '\t',
  '\u2028',
  '\u{e0041}',
  '漢字',
  '\u{20000}\u{20001}',
  '✈\ufe0f',
  '\u2800\u3164',
  '👩‍💻',
  ' ',
  'a',
];
const hostile = fc.array(fc.constantFrom(...TRICKS), { maxLength: 80 }).map(parts => parts.join(''));
const line = (text: string) => ({ kind: 'added' as const, text, ended: true });

const question: fc.Arbitrary<Question> = fc.record({
  skill: fc.record({
    name: hostile,
    version: fc.option(hostile),
    description: hostile,
    dialect: fc.constant('gibberish'),
    digest: fc.constant(`sb1-sha256:${'0'.repeat(64)}`),
    place: hostile,
  }),
  target: fc.record({ kind: fc.constant('tool' as const), name: hostile }),
  trust: fc.constantFrom('bundled' as const, 'user' as const, 'untrusted' as const),
  banner: fc.boolean(),
  reasons: fc.array(hostile, { maxLength: 3 }),
  warnings: fc.array(hostile, { maxLength: 2 }),
  grant: fc.constant({ network: { kind: 'none' as const }, secrets: [], workspace: null, paths: [], isolated: true }),
  preview: fc.record({
    argv: fc.array(hostile, { maxLength: 5 }),
    template: fc.option(hostile),
    cwd: hostile,
    env: fc.array(hostile, { maxLength: 3 }),
    mounts: fc.array(
      fc.record({ at: hostile, kind: fc.constant('bind'), source: fc.option(hostile), writable: fc.boolean() }),
      {
        maxLength: 3,
      },
    ),
    network: hostile,
    limits: fc.constant({ timeMs: 1000, memoryBytes: 1024, cpus: 1, pids: 1, diskBytes: 1024 }),
    runtime: hostile,
    image: fc.option(hostile),
    dependencies: fc.array(fc.record({ manager: fc.constant('pip'), lock: fc.option(fc.constant('ab'.repeat(32))) }), {
      maxLength: 1,
    }),
    input: hostile,
    inputBytes: fc.nat(),
  }),
  change: fc.option(
    fc.record({
      approvedAt: fc.constant(0),
      digest: fc.constant('sb1-sha256:1'),
      diff: fc.option(
        fc.tuple(hostile, hostile).map(([path, text]) => ({
          equal: false,
          fields: [{ field: path, change: 'changed' as const, before: text, after: path }],
          files: [
            {
              path,
              change: 'added' as const,
              before: null,
              after: { size: 1, executable: true, digest: '0'.repeat(64) },
              content: {
                kind: 'text' as const,
                minimal: true,
                hunks: [{ oldStart: 0, oldLines: 0, newStart: 1, newLines: 1, lines: [line(text)] }],
              },
            },
          ],
        })),
      ),
    }),
  ),
  problem: fc.option(hostile),
  answers: fc.constant({ terminal: ['once', 'deny'] as const }),
  alwaysMs: fc.constant(1),
});

describe('a question on a terminal', () => {
  test('holds nothing that moves the cursor or hides text, whatever a skill wrote', () => {
    fc.assert(
      fc.property(question, fc.integer({ min: 1, max: 300 }), (asked, columns) => {
        const text = renderQuestion(asked, columns, plain);
        expect(text).not.toMatch(
          /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2028\u2029\u{e0000}-\u{e007f}]/u,
        );
      }),
    );
  });

  test('keeps what others wrote in its column: rows of ours are ours', () => {
    fc.assert(
      fc.property(question, asked => {
        const text = renderQuestion({ ...asked, change: null, problem: null, banner: false }, 80, plain);
        const [, ...rows] = text.trimEnd().split('\n');
        for (const row of rows) expect(row).toMatch(/^(?: {2}[a-z]{2,9} +| {12})/);
        for (const row of rows) expect(widthOf(row), row).toBeLessThanOrEqual(80);
        expect(rows.filter(row => row.startsWith('  command ')).length).toBe(1);
      }),
    );
  });

  test('a diff stays behind its margin too, however long its lines are and whatever is painted', () => {
    const painted = (_style: string, text: string) => `\u001b[31m${text}\u001b[39m`;
    fc.assert(
      fc.property(question, fc.integer({ min: 1, max: 300 }), (asked, columns) => {
        const whole = renderQuestion({ ...asked, problem: null, banner: false }, columns, painted);
        const text = whole.replaceAll(/\u001b\[31m|\u001b\[39m/g, '');
        expect(text).not.toContain('\u001b');
        const rows = text.split('\n');
        const from = rows.findIndex(row => row.startsWith('It has changed'));
        for (const row of from === -1 ? [] : rows.slice(from + 1)) {
          if (row !== '' && !row.includes('is not kept any more')) expect(row).toMatch(/^ {2}\| /);
          if (!row.includes('is not kept any more'))
            expect(widthOf(row), row).toBeLessThanOrEqual(Math.max(columns, 40));
        }
        expect(whole.split('\u001b[31m').length).toBe(whole.split('\u001b[39m').length);
      }),
    );
  });

  test('letters beyond the first plane take two columns: none of them goes on at the edge of the screen', () => {
    expect(widthOf('\u{20000}a✈\ufe0f')).toBe(5);
  });

  test('what is long is cut, and it is said', () => {
    const [base] = fc.sample(question, { numRuns: 1, seed: 1 });
    if (base === undefined) throw new Error('no sample');
    const long = 'x'.repeat(100_000);
    const text = renderQuestion(
      {
        ...base,
        change: null,
        skill: { ...base.skill, name: long, description: long },
        reasons: Array.from({ length: 20 }, () => 'short'),
        warnings: Array.from({ length: 15 }, () => 'short'),
        preview: { ...base.preview, argv: Array.from({ length: 500 }, () => long), env: [long], input: long },
      },
      80,
      plain,
    );
    expect(text.length).toBeLessThan(30_000);
    expect(text).toContain('… (cut)');
    expect(text).toContain('and 440 words more');
    expect(text).toMatch(/ {2}why +… and 8 more/);
    expect(text).toMatch(/ {2}note +… and 3 more/);
  });
});
