import { join } from 'node:path';
import type { DockerOptions } from './docker.ts';
import type { Engine } from './docker-api.ts';
import { prepareContainer, type Workings } from './docker-container.ts';
import { askEngine, type EngineFacts, hintFor, isMissing, runtimeProblem } from './docker-engine.ts';
import { findHelper } from './helper.ts';
import { seenInside } from './probe-levels.ts';
import type { Guarantee, Level, Problem, RunSpec } from './sandbox.ts';
import { makePrivate } from './state.ts';

/** What was found at the socket. Without workings the driver is not usable. */
export type EngineStanding = {
  problems: Problem[];
  workings: Workings | null;
  enforces: ReadonlyMap<Guarantee, Level>;
};

const START =
  'Start the engine (systemctl start docker, or systemctl start podman.socket), let this account use its socket, and name the socket with SKILLBOX_DOCKER_SOCKET.';

/** Asks the engine, and starts a container that looks around. */
export async function checkEngine(engine: Engine, options: DockerOptions): Promise<EngineStanding> {
  const unusable = (what: string, fix: string | null): EngineStanding => ({
    problems: [{ what, fix, fatal: true }],
    workings: null,
    enforces: new Map(),
  });
  const helper = options.helper ?? findHelper();
  if (helper === null) return unusable('the static helper is not there', 'node scripts/build-helper.mjs');
  let known: EngineFacts;
  try {
    known = await askEngine(engine);
  } catch (error) {
    return unusable(textOf(error), START);
  }
  const who = `${known.kind === 'podman' ? 'Podman' : 'Docker'} ${known.version}`;
  if (known.rootless)
    return unusable(
      `${who} is rootless: whoever owns files outside is somebody else inside, and a run could not read its own`,
      known.kind === 'podman'
        ? "Name root's socket with SKILLBOX_DOCKER_SOCKET (/run/podman/podman.sock), or use bubblewrap, which needs no root."
        : "Name root's socket with SKILLBOX_DOCKER_SOCKET (/var/run/docker.sock), or use bubblewrap, which needs no root.",
    );
  const wrong = runtimeProblem(options.runtime, known);
  if (wrong !== null) return unusable(wrong.what, wrong.fix);
  try {
    await engine.call('GET', `/images/${encodeURIComponent(options.defaultImage)}/json`);
  } catch (error) {
    if (!isMissing(error)) return unusable(textOf(error), START);
    return unusable(
      `the image ${options.defaultImage} is not there`,
      `${known.kind} pull ${options.defaultImage}, or name another with SKILLBOX_DOCKER_IMAGE`,
    );
  }
  const workings = { engine, options, helper, known };
  const enforces = new Map<Guarantee, Level>();
  try {
    for (const [guarantee, level] of levels(await lookAround(workings), known)) enforces.set(guarantee, level);
  } catch (error) {
    return unusable(`${who} did not start a probe: ${textOf(error)}`, hintFor(textOf(error)));
  }
  const open = (['files', 'network', 'processes', 'syscalls', 'privileges'] as const)
    .filter(guarantee => enforces.get(guarantee) === 'none')
    .map(guarantee => ({ what: `the probe found ${guarantee} open`, fix: null, fatal: true }));
  return { problems: [...open, ...shortcomings(known, who)], workings, enforces };
}

function shortcomings(known: EngineFacts, who: string): Problem[] {
  if (known.kind === 'docker') return [];
  const what = `${who} does not count the files of a tmpfs: only the memory limit bounds how many a run makes`;
  return [{ what, fix: null, fatal: false }];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function lookAround(workings: Workings): Promise<string> {
  await makePrivate(join(workings.options.stateDir, 'containers'));
  const handle = await prepareContainer(PROBE, workings, new Map(), () => undefined);
  try {
    const outcome = await handle.start({ stdin: null, onChunk: null, keepBytes: 1 << 16, signal: null });
    return outcome.stdout.text.toString('utf8');
  } finally {
    await handle.dispose();
  }
}

const PROBE: RunSpec = {
  argv: ['/.skillbox/helper', 'probe'],
  cwd: '/',
  env: {},
  mounts: [],
  limits: {
    timeMs: 20_000,
    graceMs: 0,
    cpus: 1,
    memoryBytes: 64 << 20,
    pids: 8,
    openFiles: 64,
    fileBytes: 1 << 20,
    diskBytes: 1 << 20,
    outputBytes: 1 << 16,
  },
  network: { kind: 'none' },
  runtime: { kind: 'host', also: [] },
  tenant: null,
  requires: new Map(),
};

function levels(probe: string, { limits }: EngineFacts): Map<Guarantee, Level> {
  const seen = new Map(
    probe.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const tree = (holds: boolean): Level => (holds ? 'kernel-tree' : 'none');
  return new Map<Guarantee, Level>([
    ...seenInside(seen),
    ['workspace', 'polled'],
    ['time', 'kernel-tree'],
    ['cpu', tree(limits.cpu)],
    ['memory', tree(limits.memory)],
    ['pids', tree(limits.pids)],
    ['open-files', 'kernel-process'],
    ['file-size', 'kernel-process'],
    ['disk', 'polled'],
    ['output', 'kernel-tree'],
  ]);
}
