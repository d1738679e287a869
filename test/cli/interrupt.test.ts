import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EXAMPLES, NO_SANDBOX, newSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { trustIn } from '../support/trust.ts';

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

/** A skill that says when it has begun, and that it was asked to end. */
function newSlow(env: Record<string, string>): string {
  return trustIn(
    env.SKILLBOX_DATA_DIR ?? '',
    newSkill('bash', "trap 'echo bye; exit 1' TERM; echo begun; sleep 20 & wait\n"),
  );
}

async function until(what: () => boolean): Promise<void> {
  for (let turn = 0; turn < 300 && !what(); turn++) await sleep(50);
  expect(what()).toBe(true);
}

/** The newest run, as `exec show` tells it. */
function newest(env: Record<string, string>): Record<string, unknown> | null {
  const ask = (...words: string[]) =>
    JSON.parse(spawnSync(process.execPath, [PROGRAM, ...words, '--json'], { env, encoding: 'utf8' }).stdout);
  const [first] = ask('exec', 'list').runs as { execution_id: string }[];
  return first === undefined ? null : (ask('exec', 'show', first.execution_id) as Record<string, unknown>);
}

describe.skipIf(NO_SANDBOX)('SIGHUP', { timeout: 60_000 }, () => {
  test('cancels a run cleanly, however often it comes', async () => {
    const env = newEnv();
    const child = spawn(process.execPath, [PROGRAM, 'run', newSlow(env), '--json'], { env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    await until(() => newest(env)?.logs === 'begun\n');
    const ended = once(child, 'close');
    child.kill('SIGHUP');
    child.kill('SIGHUP');
    await sleep(5);
    child.kill('SIGHUP');
    expect(await ended).toEqual([129, null]);
    expect(JSON.parse(out)).toMatchObject({ end: { kind: 'canceled' }, logs: 'begun\nbye\n' });
  });

  /** The program on a terminal that is closed once this was shown on it; the exit code. */
  function hangUp(env: Record<string, string>, shown: string, words: string[]): string {
    const player = `import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while sys.argv[1].encode() not in seen: seen += os.read(terminal, 65536)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
    const all = ['-c', player, shown, process.execPath, PROGRAM, ...words];
    const played = spawnSync('python3', all, { env: { ...env, TERM: 'xterm' }, encoding: 'utf8', timeout: 30_000 });
    return played.stdout.trim() + played.stderr;
  }

  test('a terminal that is closed cancels the run, though nothing can be shown any more', () => {
    const env = newEnv();
    expect(hangUp(env, 'begun', ['run', newSlow(env)])).toBe('129');
    expect(newest(env)).toMatchObject({ status: 'failed', end: { kind: 'canceled' }, logs: 'begun\nbye\n' });
  });

  test('a terminal that is closed while a person is asked is a no, and nothing is left behind', () => {
    const env = newEnv();
    hangUp(env, 'empty is deny): ', ['run', newSkill('bash', 'echo ran\n')]);
    expect(newest(env)).toMatchObject({ status: 'failed', logs: '' });
    expect(readdirSync(join(env.SKILLBOX_DATA_DIR ?? '', 'sandbox/runs'))).toEqual([]);
  });

  test.each([
    ['nohup', 'nohup "$@"'],
    ['a shell that ignores it', `trap '' HUP; "$@"; exit $?`],
  ])('is nothing to a program that was started with %s', async (_name, script) => {
    const env = newEnv();
    const words = [process.execPath, PROGRAM, 'run', newSlow(env), '--json'];
    const shell = spawn('bash', ['-c', script, 'bash', ...words], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => {
      if (shell.exitCode === null) process.kill(-(shell.pid ?? 0), 'SIGKILL');
    });
    await until(() => newest(env)?.logs === 'begun\n');
    process.kill(-(shell.pid ?? 0), 'SIGHUP');
    await sleep(1000);
    expect(newest(env)).toMatchObject({ status: 'running' });
    process.kill(-(shell.pid ?? 0), 'SIGTERM');
    await until(() => newest(env)?.status === 'failed');
    expect(newest(env)).toMatchObject({ end: { kind: 'canceled' }, logs: 'begun\nbye\n' });
  });
});
