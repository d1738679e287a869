import { dirname, join } from 'node:path';
import { makeOwn } from './base/index.ts';
import type { Config } from './config/index.ts';
import {
  type Bubblewrap,
  chooseSandbox,
  createBubblewrap,
  createDocker,
  createProcess,
  DEFAULT_UIDS,
  type Sandbox,
  type WarmReport,
  warmOptions,
} from './sandbox/index.ts';

/** What the sandboxes of a data directory are made with. */
export type DriverOptions = {
  dataDirectory: string;
  /** Where interpreters are looked for before the system's directories. */
  search: readonly string[];
  /** A driver by name, or null for the strongest that is usable. */
  sandbox: string | null;
  docker: { socket: string; defaultImage: string; runtime: string | null };
  /** Sandboxes held ready for runs to come: a server wants some, a command none. */
  warm: number;
  /** Berths held ready for cold starts, the wait for their cgroup behind them: a server wants one, a command none. */
  spares: number;
  /** A sandbox may be begun for a run that is not known yet, as the last of its name was. */
  ahead?: boolean;
  /** The operator's word that skills may run without isolation; the caller must name the driver as well. */
  allowProcess: boolean;
};

/** As they are set up. `sandbox`: what the caller wants instead. */
export function driverOptions(config: Config, sandbox: string | null): DriverOptions {
  return {
    dataDirectory: config.get('data.directory'),
    search: [dirname(process.execPath), ...config.get('sandbox.runtimes')],
    sandbox: sandbox ?? config.get('sandbox.driver'),
    docker: {
      socket: config.get('sandbox.docker.socket'),
      defaultImage: config.get('sandbox.docker.image'),
      runtime: config.get('sandbox.docker.runtime'),
    },
    warm: config.get('warm.count'),
    spares: config.get('warm.spares'),
    ahead: config.get('warm.ahead'),
    allowProcess: config.get('sandbox.allowUnisolated'),
  };
}

/** The sandboxes of a data directory, and the choice among them. */
export type Drivers = {
  /** Strongest first. */
  all: readonly Sandbox[];
  warmth(): WarmReport;
  /** The one for runs, found once; from then on it makes ready what a first run would wait for. */
  choose(): Promise<Sandbox>;
  /**
   * Resolves when the wait for the first sandbox is the kernel's alone; what is wrong is told by `choose`. `like`: a name for the run
   * that follows, for what it was like the last time.
   */
  begin(like?: string | null): Promise<void>;
  /** Where the run that was begun for will find its way out; null: it has none, or nobody knows. */
  wayOut(): string | null;
};

export function openDrivers(options: DriverOptions): Drivers {
  const bubblewrap = createDefault(options);
  const all = [bubblewrap, ...createOthers(options)];
  let chosen: Promise<Sandbox> | null = null;
  let begun: Promise<void> = Promise.resolve();
  let expected: string | null = null;
  const choose = () => {
    // Before anything in it is believed: a sandbox keeps there what it found out about this host.
    chosen ??= Promise.resolve()
      .then(() => makeOwn(options.dataDirectory))
      .then(() => chooseSandbox(all, options.sandbox))
      .then(
        sandbox => {
          begun = sandbox.warm(expected);
          return sandbox;
        },
        (error: unknown) => {
          chosen = null; // the next run tries again
          throw error;
        },
      );
    return chosen;
  };
  const begin = (like: string | null = null) => {
    expected = options.ahead === true ? like : null;
    return choose().then(
      () => begun,
      () => undefined,
    );
  };
  return { all, warmth: () => bubblewrap.warmth(), choose, begin, wayOut: () => bubblewrap.wayOut() };
}

/** The strongest, and the only one that holds sandboxes ready. */
function createDefault({ dataDirectory, search, warm, spares }: DriverOptions): Bubblewrap {
  return createBubblewrap({
    stateDir: join(dataDirectory, 'sandbox'),
    uids: DEFAULT_UIDS,
    search,
    cgroups: true,
    spares,
    warm: warmOptions(warm),
    bwrap: null,
    helper: null,
  });
}

/** Strongest first. */
function createOthers({ dataDirectory, search, sandbox, docker, allowProcess }: DriverOptions): Sandbox[] {
  const stateDir = join(dataDirectory, 'sandbox');
  return [
    createDocker({ ...docker, stateDir, uids: DEFAULT_UIDS, helper: null }),
    createProcess({
      stateDir,
      search,
      allowed: { byConfiguration: allowProcess, byCaller: sandbox === 'process' },
    }),
  ];
}
