import { argvOf, environment, type Facts, type Plan, planSandbox } from './bubblewrap-plan.ts';
import type { RunSpec } from './sandbox.ts';
import type { Boot } from './warm-shape.ts';

/**
 * The same sandbox ahead of its run. The spec's program is a bootstrap that waits for the run; where `boot` is `exec`, no
 * program is started until the run names it. `bridge` is where the run's socket will be; until then nothing is there.
 * `slots` are in memory where they can be: filling them is what a run waits for. `lingers`: for a process that goes on after the
 * run, and takes the sandbox down when its result is there; one that ends with it wants it gone the sooner the better.
 */
export function planSpare(
  spec: RunSpec,
  facts: Facts,
  boot: Boot,
  bridge: string | null,
  slots: SlotsInMemory | null,
  lingers: boolean,
): Plan {
  const boots = boot !== 'exec';
  const program = boots ? argvOf(spec, facts).flatMap(argument => ['arg', argument]) : [];
  const variables = boots ? environment(spec, facts).flatMap(entry => ['env', entry]) : [];
  const end = boot === 'node' ? ['done'] : [];
  const stay = lingers ? ['linger', LINGER_MS] : [];
  const plan = planSandbox(spec, facts, bridge, ['park', ...end, ...stay, ...program, ...variables]);
  if (slots === null) return plan;
  const made = slots.directories.flatMap(path => ['directory', path]);
  // First of all, and so on the host: that is where they are filled from.
  return { ...plan, launch: ['slots', slots.at, SLOTS_BYTES, ...made, ...plan.launch] };
}

/** A file system of its own for what a run brings, and the directories in it. */
export type SlotsInMemory = { at: string; directories: readonly string[] };
const SLOTS_BYTES = 64 * 1024 * 1024;
/** So long PID 1 stays when all is told, unless it is hung up on before: the result is written by then. */
const LINGER_MS = 4;

/** What a parked program is told: the helper's await_run and the bootstraps read it. */
export function encodeRun(spec: RunSpec, facts: Facts): Buffer {
  const argv = argvOf(spec, facts);
  const words = [spec.cwd, String(argv.length), ...argv, ...environment(spec, facts)];
  return Buffer.from(words.map(word => `${word}\0`).join(''));
}
