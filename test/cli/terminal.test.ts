import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { newTool } from '../support/approvals.ts';
import { NO_SANDBOX, newSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { trustIn } from '../support/trust.ts';

tidy();

const ROOT = join(import.meta.dirname, '../..');
const PLAYER = join(import.meta.dirname, '../support/terminal.py');
const ASKS = 'empty is deny): ';

type Step = { wait: string; type: string; after?: number };
type Played = { screen: string; raw: string; code: number };
type Place = { data: string; env: Record<string, string> };

function newPlace(): Place {
  const data = join(tempDir('data'), 'data');
  const env = { SKILLBOX_DATA_DIR: data, HOME: tempDir('home'), PATH: process.env.PATH ?? '', TERM: 'xterm' };
  return { data, env };
}

/** The built program on a terminal of its own: what a person sees, and how it ends. */
function play({ env }: Place, words: string[], steps: Step[], columns = 80): Played {
  const words_ = [PLAYER, String(columns), JSON.stringify(steps), '--', join(ROOT, 'skillbox'), ...words];
  const { screen, code, left } = JSON.parse(execFileSync('python3', words_, { env, cwd: env.HOME, encoding: 'utf8' }));
  if (left.length > 0) throw new Error(`never came to ${JSON.stringify(left)}; the screen:\n${screen}`);
  return { screen: stripVTControlCharacters(screen).replaceAll('\r', ''), raw: screen, code };
}

describe.skipIf(NO_SANDBOX)('a person at a terminal', () => {
  beforeAll(() => {
    if (!existsSync(join(ROOT, 'dist/cli/skillbox.cjs'))) throw new Error('npm run build comes first');
  });

  test('GB-18 first run, always, changed content, deny always', { timeout: 120_000 }, () => {
    const place = newPlace();
    const path = trustIn(place.data, newTool());
    const words = ['run', path, 'say', '--param', 'text=hello'];

    const first = play(place, words, [{ wait: ASKS, type: 'once\n' }]);
    expect(first.code).toBe(0);
    expect(first.screen).toContain('echoer 1.0.0 wants to run say');
    expect(first.screen).toContain('  about     Says what it is given.');
    expect(first.screen).toContain('  format    gibberish');
    expect(first.screen).toMatch(/ {2}why {7}The tool may change your files\./);
    expect(first.screen).toContain('  tool      ./scripts/say.sh <text>');
    expect(first.screen).toContain('  command   "/skill/scripts/say.sh" "hello"');
    expect(first.screen).toContain('  network   none');
    expect(first.screen).toContain('  a  always: ');
    expect(first.screen).toContain('first: hello');
    expect(first.screen).not.toContain('UNTRUSTED');

    const second = play(place, words, [{ wait: ASKS, type: 'a\n' }]);
    expect(second).toMatchObject({ code: 0, screen: expect.stringContaining('✔ echoer say: success') });
    const unasked = play(place, words, []);
    expect(unasked.code).toBe(0);
    expect(unasked.screen).not.toContain(ASKS);

    appendFileSync(join(path, 'references/notes.md'), 'four\n');
    const changed = play(place, words, [{ wait: ASKS, type: 'D\n' }]);
    expect(changed.code).toBe(4);
    expect(changed.screen).toMatch(/It has changed since you approved it on \d{4}-\d\d-\d\d:/);
    expect(changed.screen).toContain('  | changed references/notes.md');
    expect(changed.screen).toContain('  | +four');
    expect(changed.screen).toContain('DENIED: a person denied it');

    const never = play(place, words, []);
    expect(never.code).toBe(4);
    expect(never.screen).toContain('You said that this must never run.');
    expect(never.screen).not.toContain('first: hello');
  });

  test('GB-17 untrusted: a banner above everything, each time, and no "always"', { timeout: 60_000 }, () => {
    const place = newPlace();
    const path = newSkill('bash', 'echo ran\n');
    for (const answer of ['o\n', 'o\n']) {
      const { code, screen } = play(place, ['run', path], [{ wait: ASKS, type: answer }]);
      expect(code).toBe(0);
      const lines = screen.split('\n').filter(line => line.trim() !== '' && !/preparing/.test(line));
      expect(lines[0]).toMatch(/^!{40,}$/);
      expect(lines[1]).toContain('!!  UNTRUSTED. Nobody vouches for where this skill comes from.');
      expect(screen).not.toContain('  a  always');
    }
  });

  test('what was typed before the question does not answer it', { timeout: 60_000 }, () => {
    const place = newPlace();
    const path = newSkill('bash', 'echo ran\n');
    // Typed while the program starts, and again with the question on the screen but before it reads.
    const { code, screen } = play(
      place,
      ['run', path],
      [
        { wait: '', type: 'o\no\no\n' },
        { wait: ASKS, type: '\u0004', after: 0.5 },
      ],
    );
    expect(code).toBe(4);
    expect(screen).toContain('DENIED');
    expect(screen).not.toContain('success');
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['the end of input', '\u0004'],
  ])('%s where something is asked for cancels the command, and writes nothing', { timeout: 60_000 }, (_what, keys) => {
    const place = newPlace();
    const { code, screen } = play(place, ['skill', 'init'], [{ wait: 'Name of the skill', type: keys, after: 0.3 }]);
    expect(code).toBe(1);
    expect(screen).toContain('nothing was answered');
    expect(screen).not.toContain('defect');
    expect(existsSync(join(place.env.HOME ?? '', 'word-count'))).toBe(false);
  });

  test.each([
    ['an empty line', '\n'],
    ['the end of input', '\u0004'],
    ['Ctrl-C', '\u0003'],
  ])('%s is a no', { timeout: 60_000 }, (_what, keys) => {
    const { code, screen } = play(newPlace(), ['run', newSkill('bash', 'echo ran\n')], [{ wait: ASKS, type: keys }]);
    expect(code).toBe(4);
    expect(screen).toContain('DENIED');
  });

  test('nothing that a skill wrote moves the cursor, hides text or leaves its column', { timeout: 60_000 }, () => {
    const place = newPlace();
    const description = '"\\e[2J\\e[H\\u202egnp.exe\\u200b network none \\n  command   \\"true\\""';
    const path = trustIn(place.data, newTool({ description }));
    const words = ['run', path, 'say', '--param', 'text=\u001b[2J\u202e'];
    const { raw, screen } = play(place, words, [{ wait: ASKS, type: 'd\n' }], 60);
    expect(raw).not.toContain('\u001b[2J');
    expect(raw).not.toMatch(/[\u202e\u200b]/);
    expect(screen).toContain('<U+001B>[2J<U+001B>[H<U+202E>gnp.exe<U+200B>');
    expect(screen.match(/^ {2}command /gm)).toHaveLength(1);
    const question = screen.slice(0, screen.indexOf('  o  once'));
    for (const line of question.split('\n')) expect(line.length, line).toBeLessThanOrEqual(60);
  });
});
