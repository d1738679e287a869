import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome, RunSpec, SandboxMount } from '../../src/sandbox/index.ts';
import { allProcesses, commandOf } from './processes.ts';
import { MOUNTS, specOf } from './sandbox-spec.ts';
import { tempDir } from './temp.ts';

const PROGRAMS = join(import.meta.dirname, '../attacks/programs');
export const ATTACK: SandboxMount = {
  kind: 'bind',
  source: PROGRAMS,
  at: '/attack',
  writable: false,
  exec: true,
  protect: null,
};

/** A hostile program of test/attacks/programs, by name. */
export function attack(program: string, args: string[] = [], changes: Parameters<typeof specOf>[1] = {}): RunSpec {
  const interpreter = program.endsWith('.py') ? ['python3', '-I', '-S'] : ['bash'];
  return specOf([...interpreter, `/attack/${program}`, ...args], {
    ...changes,
    mounts: [...(changes.mounts ?? MOUNTS), ATTACK],
  });
}

let built: string | null = null;

/** The C programs, built once, as a directory to be mounted. */
export function buildPrograms(): string {
  if (built !== null && existsSync(built)) return built;
  const directory = tempDir('attacks', 0o755);
  mkdirSync(join(directory, 'bin'), { mode: 0o755 });
  for (const name of readdirSync(PROGRAMS))
    if (name.endsWith('.c'))
      execFileSync('cc', [
        '-static',
        '-O1',
        '-Wall',
        '-Werror',
        '-o',
        join(directory, 'bin', name.slice(0, -2)),
        join(PROGRAMS, name),
      ]);
  built = join(directory, 'bin');
  return built;
}

export function binMount(): SandboxMount {
  return { kind: 'bind', source: buildPrograms(), at: '/attack-bin', writable: false, exec: true, protect: null };
}

/** Host processes whose arguments begin with `mark`. */
export function processesMarked(mark: string): number[] {
  return allProcesses().filter(pid => commandOf(pid).startsWith(mark));
}

export const lines = (outcome: Outcome) => outcome.stdout.text.toString('utf8').trim().split('\n');
