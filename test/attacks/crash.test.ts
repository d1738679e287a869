import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import { newTool } from '../support/approvals.ts';
import { processesMarked } from '../support/attack.ts';
import { NO_SANDBOX, newSkill, openSkillbox, runSkill, textOf, tool } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const newMark = () => `sb-mark-${randomBytes(6).toString('hex')}`;
/** Prints, starts a child that leaves the group, and ends by itself after 20 s. */
const lingering = (mark: string) =>
  newSkill('bash', `setsid bash -c "trap '' TERM; exec -a ${mark} sleep 20" & echo started; sleep 20\n`);

/** Another runtime on the same data. `until` resolves with the line that starts with the word. */
function startRuntime(data: string, skill: string): { child: ChildProcess; until: (word: string) => Promise<string> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../support/run-child.ts'), data, skill], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', line => lines.push(line));
  return {
    child,
    async until(word) {
      for (;;) {
        const found = lines.find(line => line.startsWith(word));
        if (found !== undefined) return found.slice(word.length + 1);
        if (child.exitCode !== null) throw new Error(`the runtime ended before it said ${word}`);
        await sleep(20);
      }
    },
  };
}

async function open(data: string): Promise<Skillbox> {
  const skillbox = await openSkillbox(data);
  onTestFinished(() => skillbox.close());
  return skillbox;
}

const kill = async (child: ChildProcess) => {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};

/** Waits for the child that left the group. */
async function there(mark: string): Promise<void> {
  while (processesMarked(mark).length === 0) await sleep(20);
}

async function gone(mark: string): Promise<number[]> {
  // The kernel takes the namespace down on its own time after the runtime's end.
  for (let turn = 0; turn < 100 && processesMarked(mark).length > 0; turn++) await sleep(50);
  return processesMarked(mark);
}

describe.skipIf(NO_SANDBOX)('a runtime that is killed mid-run', () => {
  test('SK-15 no process survives; the next start marks the run and sweeps what it left', {
    timeout: 40_000,
  }, async () => {
    const data = tempDir('data');
    const mark = newMark();
    const { child, until } = startRuntime(data, lingering(mark));
    const id = await until('running');
    await until('printed');
    await there(mark);
    await kill(child);
    expect(await gone(mark)).toEqual([]);
    expect(readdirSync(join(data, 'sandbox/runs'))).toHaveLength(1);

    const next = await open(data);
    // Whoever asks for it, by whatever command, is not told that it still runs.
    expect(await next.getRun(id)).toMatchObject({
      state: 'failed',
      ending: { kind: 'interrupted' },
      error: { code: 'INTERRUPTED' },
    });
    expect(await next.cancelRun(id)).toBe(false);
    expect((await next.readLogs(id, 0)).entries.map(({ bytes }) => bytes.toString())).toEqual(['started\n']);
    expect(await runSkill(next, newSkill('bash', 'echo next\n'))).toMatchObject({ state: 'success' });
    await next.settled();
    expect(readdirSync(join(data, 'sandbox/runs'))).toEqual([]);
  });

  test('SK-15 what another living process has on the same data is never touched', { timeout: 40_000 }, async () => {
    const data = tempDir('data');
    const mark = newMark();
    const { child, until } = startRuntime(data, lingering(mark));
    const id = await until('running');
    await until('printed');
    await there(mark);
    const other = await open(data);
    expect(await runSkill(other, newSkill('bash', 'echo beside\n'))).toMatchObject({ state: 'success' });
    expect(await other.getRun(id)).toMatchObject({ state: 'running', ending: null });
    expect(processesMarked(mark)).toHaveLength(1);
    await other.settled();
    expect(readdirSync(join(data, 'sandbox/runs'))).toHaveLength(1);
    // Nor by its own death are those of the others.
    await kill(child);
    expect(await gone(mark)).toEqual([]);
    expect((await other.getRun(id)).state).toBe('failed');
  });

  test('SK-15 two runtimes at once on new data', { timeout: 40_000 }, async () => {
    const data = join(tempDir('data'), 'new');
    const skill = newSkill('bash', 'echo "I am $SANDBOX_INPUT"\n');
    const both = [startRuntime(data, skill), startRuntime(data, skill)];
    expect(await Promise.all(both.map(({ until }) => until('said')))).toEqual(['"I am {}\\n"', '"I am {}\\n"']);
    const runs = await (await open(data)).listRuns({ states: ['success'], limit: 10 });
    expect(runs).toHaveLength(2);
    expect(readdirSync(join(data, 'snapshots'))).toHaveLength(1);
  });
});

const CAP_SYS_ADMIN = 21n;
const capabilities = BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
const canMount = process.getuid?.() === 0 && ((capabilities >> CAP_SYS_ADMIN) & 1n) === 1n;

/** A file system of its own, so small that a test can fill it. */
function tinyDisk(): { data: string; fill: () => void; free: () => void } {
  const data = tempDir('tiny');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'skillbox-test', data]);
  onTestFinished(() => void execFileSync('umount', ['-l', data]));
  const filler = join(data, 'filler');
  return {
    data,
    fill: () => {
      try {
        writeFileSync(filler, Buffer.alloc(5 * 1024 ** 2));
      } catch {
        return; // full, as it was meant to be
      }
      throw new Error('the disk is not full');
    },
    free: () => rmSync(filler),
  };
}

describe.skipIf(NO_SANDBOX || !canMount)('a disk that is full', () => {
  const partsIn = (data: string) =>
    readdirSync(data, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.part'));

  test('an answer that cannot be kept is no answer: nothing runs', async () => {
    const { data, fill, free } = tinyDisk();
    const skillbox = await open(data);
    const path = newTool();
    const printed: string[] = [];
    for (const answer of ['once', 'always', 'deny-always'] as const) {
      const said = runSkill(skillbox, path, {
        target: tool('say', { text: 'x'.repeat(100_000) }),
        onChunk: (_stream, chunk) => void printed.push(chunk.toString()),
        ask: async () => {
          fill();
          return { answer, channel: 'terminal', by: 'tester' };
        },
      });
      await expect(said).rejects.toMatchObject({ code: 'UNWRITABLE' });
      free();
    }
    expect(printed).toEqual([]);
    expect(await skillbox.listRuns({ states: null, limit: 10 })).toEqual([]);
    expect(await skillbox.approvals.answers()).toEqual([]);
  });

  test('a run that cannot be recorded does not start, and nothing half written stays', async () => {
    const { data, fill, free } = tinyDisk();
    const skillbox = await open(data);
    const skill = newSkill('bash', 'echo ran\n');
    expect(await runSkill(skillbox, skill)).toMatchObject({ state: 'success' });
    const another = newSkill('bash', 'echo another\n');
    await skillbox.trust.add(another, '/');
    fill();
    const printed: string[] = [];
    for (const path of [skill, another]) {
      const onChunk = (_stream: string, chunk: Buffer) => void printed.push(chunk.toString());
      await expect(
        runSkill(skillbox, path, { input: 'x'.repeat(100_000), onChunk, trusted: false }),
      ).rejects.toMatchObject({
        code: 'UNWRITABLE',
      });
    }
    expect(printed).toEqual([]);
    expect(partsIn(data)).toEqual([]);
    await skillbox.settled();
    expect(readdirSync(join(data, 'sandbox/runs'))).toEqual([]);
    free();
    expect(await runSkill(skillbox, skill)).toMatchObject({ state: 'success' });
    for (const run of await skillbox.listRuns({ states: null, limit: 10 })) expect(run.endedAt).not.toBeNull();
  });

  test('full while it prints: the run is ended, and the error says why', async () => {
    const { data, fill, free } = tinyDisk();
    const skillbox = await open(data);
    const skill = newSkill('bash', 'for ((i = 0; i < 200; i++)); do printf "%8192s" x; sleep 0.05; done\n');
    const run = runSkill(skillbox, skill, { onChunk: fill });
    await expect(run).rejects.toMatchObject({ code: 'UNWRITABLE' });
    free();
    await skillbox.settled();
    expect(readdirSync(join(data, 'sandbox/runs'))).toEqual([]);
    expect(await runSkill(skillbox, newSkill('bash', 'echo again\n'))).toMatchObject({ state: 'success' });
  });

  test('artifacts that do not fit are no artifacts: no blob, no part of one', async () => {
    const { data } = tinyDisk();
    const skillbox = await open(data);
    const skill = newSkill('bash', 'head -c 2400000 /dev/urandom > "$SANDBOX_FILES_DIR/big"; echo done\n');
    await expect(runSkill(skillbox, skill)).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(partsIn(data)).toEqual([]);
    expect(existsSync(join(data, 'blobs')) ? readdirSync(join(data, 'blobs')) : []).toEqual([]);
    const [record] = await skillbox.listRuns({ states: null, limit: 1 });
    expect(record).toMatchObject({ state: 'failed', error: { code: 'UNWRITABLE' }, artifacts: [] });
    expect(await textOf(skillbox, record ?? (await skillbox.getRun('')))).toBe('done\n');
  });
});
