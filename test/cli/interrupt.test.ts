import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const PROGRAM = join(import.meta.dirname, '../../dist/cli/skillbox.cjs');
const WORDS = join(EXAMPLES, 'skillbox/word-count');

function newEnv(): Record<string, string> {
  return { SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'), HOME: tempDir('home'), PATH: '/usr/bin:/bin' };
}

/** Started, and waiting for what nobody gives it. */
async function startWaiting(words: string[]): Promise<{ child: ChildProcess; err: () => string }> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: newEnv() });
  onTestFinished(() => void child.kill('SIGKILL'));
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  while (!hears(child, constants.signals.SIGTERM)) await sleep(20);
  await sleep(500);
  return { child, err: () => err };
}

/** A signal that nobody catches yet would end it as usual. */
function hears({ pid }: ChildProcess, signal: number): boolean {
  const [, caught = '0'] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) & (1n << BigInt(signal - 1))) !== 0n;
}

describe.skipIf(NO_SANDBOX)('while the program waits for input', { timeout: 30_000 }, () => {
  const pipe = join(tempDir('interrupt'), 'pipe');
  execFileSync('mkfifo', [pipe]);

  test.each([
    ['SIGINT', ['run', WORDS, '--input', '-']],
    ['SIGTERM', ['run', WORDS, '--input', '-']],
    ['SIGINT', ['run', WORDS, '--input', `@${pipe}`]],
    ['SIGTERM', ['run', WORDS, '--input', `@${pipe}`]],
    ['SIGTERM', ['audit', 'verify', '--against', pipe]],
    ['SIGTERM', ['secret', 'set', 'custom/name', '--from-file', pipe]],
    ['SIGINT', ['secret', 'set', 'custom/name']],
  ] as const)('%s ends %j', async (signal, words) => {
    const { child, err } = await startWaiting([...words]);
    const ended = once(child, 'close');
    child.kill(signal);
    const code = await Promise.race([ended.then(([exit]) => exit as number | null), sleep(5000, 'never')]);
    expect([code, err()]).toEqual([1, expect.stringMatching(/^error: it was interrupted\n/)]);
  });

  test('what a command of the shell gives is read as a file is', () => {
    const env = newEnv();
    const shell = (line: string) => {
      const { stdout, stderr } = spawnSync('bash', ['-c', line, process.execPath, PROGRAM, WORDS], {
        env,
        encoding: 'utf8',
      });
      return `${stdout}${stderr}`;
    };
    expect(shell(`"$0" "$1" run "$2" --json --input @<(sleep 0.2; echo '{"text":"a b c"}')`)).toContain('"words": 3');
    expect(shell(`"$0" "$1" secret set custom/name --from-file <(sleep 0.2; echo value)`)).toContain('is stored');
    expect(shell(`echo '{"text":"a b"}' | "$0" "$1" run "$2" --json --input @/dev/stdin`)).toContain('"words": 2');
  });
});
