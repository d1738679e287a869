import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { skillsIn } from '../catalog/make.ts';
import { tempDirectory } from '../temp.ts';

const PROGRAM = join(import.meta.dirname, '../../dist/cli/skillbox.cjs');
const run = promisify(execFile);
/** Longer than what was just written stays unsettled. */
const SETTLE_MS = 2500;

beforeAll(() => {
  if (!existsSync(PROGRAM)) throw new Error('npm run build comes first');
});

type Place = { cwd: string; data: string };

function newPlace(): Place {
  return { cwd: tempDirectory(), data: join(tempDirectory(), 'data') };
}

async function shell({ cwd, data }: Place, script: string, ...words: string[]): Promise<string> {
  const { stdout } = await run('bash', ['-c', script, process.execPath, PROGRAM, ...words], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, SKILLBOX_DATA_DIR: data },
    maxBuffer: 1 << 28,
  });
  return stdout;
}

const catalog = (place: Place, ...words: string[]) =>
  shell(place, 'program=$1; shift; "$0" "$program" catalog "$@"', ...words);

function manySkills(count: number, describe: (index: number) => string): string {
  return skillsIn(Object.fromEntries(Array.from({ length: count }, (_, index) => [`skill-${index}`, describe(index)])));
}

describe('AS-09 `skillbox catalog` as a program', () => {
  test('of many new skills it says what it says of known ones, and what the scan finds one by one', async () => {
    const root = manySkills(1100, index => (index % 3 === 0 ? `Does: ${index}` : `Does ${index}.`));
    await sleep(SETTLE_MS);
    const place = newPlace();
    const cold = await catalog(place, '--dir', root);
    expect(readdirSync(join(place.data, 'catalog'))).not.toEqual([]);
    expect(cold.match(/<name>skill-/g)).toHaveLength(1100);
    expect(await catalog(place, `--dir=${root}`)).toBe(cold);
    // Few at a time: the program that looks ahead is not worth starting.
    const few = manySkills(3, index => `Does ${index}.`);
    expect((await catalog(newPlace(), '--dir', few)).match(/<name>skill-/g)).toHaveLength(3);
  });

  test('a reader that goes away loses neither the index nor the exit code', async () => {
    const root = manySkills(1100, index => `Does ${index}. ${'x'.repeat(900)}`);
    await sleep(SETTLE_MS);
    const place = newPlace();
    const ended = await shell(
      place,
      'program=$1; shift; set -o pipefail; "$0" "$program" catalog "$@" | head -c 10 >&2; echo $?',
      '--dir',
      root,
    );
    expect(ended).toBe('0\n');
    expect(readdirSync(join(place.data, 'catalog')).filter(name => name.endsWith('.index'))).not.toEqual([]);
  });

  // In a container the first process is often no init: what is left to it stays a dead process, one for each catalog.
  test('the program that looked ahead is not left to the first process', async () => {
    const adopting = `
import ctypes, os, subprocess, sys
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
try:
    print("left", os.waitpid(-1, 0))
except ChildProcessError:
    print("nobody left")
`;
    const root = manySkills(1100, index => `Does ${index}.`);
    const script = `program=$1; shift; python3 -c '${adopting}' "$0" "$program" catalog "$@"`;
    expect(await shell(newPlace(), script, '--dir', root)).toBe('nobody left\n');
  });

  test.each([0, 1])('long output is whole characters, wherever it is cut (%d)', async shift => {
    const root = manySkills(400, index => `${'x'.repeat(index === 0 ? 1 + shift : 1)}${'📄'.repeat(450)}`);
    const text = await catalog(newPlace(), '--dir', root);
    expect(text.length).toBeGreaterThan(300_000);
    expect(text).not.toContain('\ufffd');
    expect(text.match(/📄/gu)).toHaveLength(400 * 450);
  });
});
