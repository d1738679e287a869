import { SkillboxError } from '../base/index.ts';
import { type Engine, EngineError } from './docker-api.ts';

/** Which engine answers at the socket, as far as our requests differ. */
export type EngineFacts = {
  kind: 'docker' | 'podman';
  version: string;
  /** Started by an ordinary user: ids inside are not those outside. */
  rootless: boolean;
  runtimes: readonly string[];
  defaultRuntime: string;
  limits: { cpu: boolean; memory: boolean; pids: boolean };
};

type Version = { Version?: string; Components?: { Name?: string }[] | null };
type Info = {
  Runtimes?: Record<string, unknown> | null;
  DefaultRuntime?: string;
  SecurityOptions?: string[] | null;
  Rootless?: boolean;
  CpuCfsQuota?: boolean;
  MemoryLimit?: boolean;
  PidsLimit?: boolean;
};

export async function askEngine(engine: Engine): Promise<EngineFacts> {
  await engine.call('GET', '/_ping');
  const version = await engine.call<Version>('GET', '/version');
  const info = await engine.call<Info>('GET', '/info');
  const podman = version.Components?.some(({ Name }) => Name === 'Podman Engine') ?? false;
  return {
    kind: podman ? 'podman' : 'docker',
    version: version.Version ?? 'of no known version',
    rootless: info.Rootless === true || (info.SecurityOptions ?? []).some(option => option.startsWith('name=rootless')),
    runtimes: Object.keys(info.Runtimes ?? {}).sort(),
    defaultRuntime: info.DefaultRuntime ?? '',
    limits: { cpu: info.CpuCfsQuota === true, memory: info.MemoryLimit === true, pids: info.PidsLimit === true },
  };
}

/** What stands against a runtime that the configuration names; null when runs really get it. */
export function runtimeProblem(runtime: string | null, engine: EngineFacts): { what: string; fix: string } | null {
  if (runtime === null || runtime === engine.defaultRuntime) return null;
  // Podman takes the request for another runtime and starts its own: a run would have less around it than it was promised.
  if (engine.kind === 'podman')
    return {
      what: `Podman runs everything with ${engine.defaultRuntime}, not with ${runtime}`,
      fix: `Write runtime = "${runtime}" under [engine] in Podman's containers.conf, or take SKILLBOX_DOCKER_RUNTIME away.`,
    };
  if (engine.runtimes.includes(runtime)) return null;
  return {
    what: `the engine has no runtime ${runtime}, only ${engine.runtimes.join(', ')}`,
    fix: `Add ${runtime} to "runtimes" in the engine's daemon.json and start it anew, or correct SKILLBOX_DOCKER_RUNTIME.`,
  };
}

/** What is known to keep a container from starting, by what the engine says of it. */
const KNOWN: readonly [RegExp, string][] = [
  [
    /cgroups in hybrid mode not supported/,
    'crun refuses a host with both versions of cgroups: write runtime = "runc" under [engine] in containers.conf, or start the engine where /sys/fs/cgroup/unified is not mounted.',
  ],
  [
    /setrlimit/,
    'The engine may not raise its own limits: write lower ones to default_ulimits in containers.conf, or to "default-ulimits" in daemon.json.',
  ],
];

export function hintFor(message: string): string | null {
  return KNOWN.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}

/** Something that the engine was asked for and did not do. */
export function engineFault(what: string, error: unknown): SkillboxError {
  if (error instanceof SkillboxError) return error;
  const why = error instanceof Error ? error.message.trim().replace(/\.+$/, '') : String(error);
  const hint = hintFor(why);
  return new SkillboxError('SANDBOX_FAILED', `${what}: ${why}.`, { cause: error, ...(hint === null ? {} : { hint }) });
}

/** "No such thing": of whatever was asked for. */
export function isMissing(error: unknown): boolean {
  return error instanceof EngineError && error.status === 404;
}
