import { join } from 'node:path';
import { SkillboxError } from './base/index.ts';
import {
  DEFAULT_RUN_LIMITS,
  executeRun,
  type LogEntry,
  type Planned,
  planRun,
  REQUIRED,
  type RunHooks,
  type Runner,
  type RunRequest,
  readLog,
  requireId,
  sweepRuns,
} from './runs/index.ts';
import {
  type Bubblewrap,
  chooseSandbox,
  createBubblewrap,
  createDocker,
  createProcess,
  DEFAULT_UIDS,
  type Diagnosis,
  diagnose,
  type Sandbox,
  type WarmReport,
  warmOptions,
} from './sandbox/index.ts';
import { isEnded, openStore, type RunRecord, type RunState, type Store } from './store/index.ts';

export { GUARANTEES } from './sandbox/index.ts';
export { isEnded, RUN_STATES } from './store/index.ts';
export type { LogEntry, Planned, RunHooks, RunRecord, RunRequest, RunState };

export type SkillboxOptions = {
  dataDirectory: string;
  /** Where interpreters are looked for before the system's directories. */
  search: readonly string[];
  /** A driver by name, or null for the strongest that is usable. */
  sandbox: string | null;
  docker: { socket: string; defaultImage: string; runtime: string | null };
  /** Sandboxes held ready for runs to come: a server wants some, a command none. */
  warm: number;
  /** The operator's word that skills may run without isolation; the caller must name the driver as well. */
  allowProcess: boolean;
};

/** A driver as `skillbox doctor` shows it. */
export type DriverReport = Diagnosis;

/** Everything that can be done with skills on this machine. */
export interface Skillbox {
  run(request: RunRequest, hooks: RunHooks): Promise<RunRecord>;
  /** What a run would start, without starting it. */
  plan(request: RunRequest): Promise<Planned>;
  listRuns(filter: { states: readonly RunState[] | null; limit: number }): Promise<RunRecord[]>;
  /** By id, or by the beginning of one. */
  getRun(id: string): Promise<RunRecord>;
  readLogs(id: string, offset: number): { entries: LogEntry[]; offset: number };
  /** False when the run has ended already. */
  cancelRun(id: string): Promise<boolean>;
  readBlob(sha256: string): AsyncIterable<Buffer>;
  blobUrl(sha256: string): string;
  /** Probes every sandbox driver by really starting something. */
  examine(): Promise<DriverReport[]>;
  /** What is held ready for runs to come. */
  warmth(): WarmReport;
  close(): Promise<void>;
}

const LOG_CHUNK_BYTES = 1024 ** 2;

/** The only wiring: store, sandbox and runs on one data directory. */
export async function createSkillbox(options: SkillboxOptions): Promise<Skillbox> {
  const store = openStore(options.dataDirectory);
  const bubblewrap = createDefault(options);
  const drivers = [bubblewrap, ...createOthers(options)];
  // Chosen at the first run: a command that runs nothing probes nothing.
  let runner: Promise<Runner> | null = null;
  const ready = () => {
    runner ??= prepareRunner(options, store, drivers);
    return runner;
  };
  const find = async (id: string): Promise<RunRecord> => {
    const record = (await store.runs.get(id)) ?? (await store.runs.get(requireId(await store.runs.find(id), id)));
    if (record === null) throw new SkillboxError('NOT_FOUND', `there is no run "${id}"`);
    return record;
  };
  return {
    async run(request, hooks) {
      return executeRun(await ready(), request, hooks);
    },
    plan: async request => planRun(await ready(), request),
    async listRuns(filter) {
      await sweepRuns(store);
      return store.runs.list(filter);
    },
    getRun: find,
    readLogs: (id, offset) => readLog(join(options.dataDirectory, 'logs'), id, offset, LOG_CHUNK_BYTES),
    async cancelRun(id) {
      const record = await find(id);
      if (isEnded(record.state)) return false;
      await store.runs.requestCancel(record.id);
      return true;
    },
    readBlob(sha256) {
      const content = store.blobs.read(sha256);
      if (content === null) throw new SkillboxError('NOT_FOUND', `there is no blob ${sha256}`);
      return content;
    },
    blobUrl: sha256 => store.blobs.url(sha256),
    examine: () => diagnose(drivers),
    warmth: () => bubblewrap.warmth(),
    async close() {
      for (const driver of drivers) await driver.close();
      await store.close();
    },
  };
}

/** The strongest, and the only one that holds sandboxes ready. */
function createDefault({ dataDirectory, search, warm }: SkillboxOptions): Bubblewrap {
  return createBubblewrap({
    stateDir: join(dataDirectory, 'sandbox'),
    uids: DEFAULT_UIDS,
    search,
    cgroups: true,
    spares: 0,
    warm: warmOptions(warm),
    bwrap: null,
    helper: null,
  });
}

/** Strongest first. */
function createOthers({ dataDirectory, search, sandbox, docker, allowProcess }: SkillboxOptions): Sandbox[] {
  const stateDir = join(dataDirectory, 'sandbox');
  return [
    createDocker({ ...docker, stateDir, uids: DEFAULT_UIDS, images: new Map(), helper: null }),
    createProcess({
      stateDir,
      search,
      allowed: { byConfiguration: allowProcess, byCaller: sandbox === 'process' },
    }),
  ];
}

/** What a killed process left behind is cleared once, before the first run of this one. */
async function prepareRunner(options: SkillboxOptions, store: Store, drivers: readonly Sandbox[]): Promise<Runner> {
  const sandbox = await chooseSandbox(drivers, options.sandbox);
  await sweepRuns(store);
  await sandbox.sweep();
  // Whoever asked twice for no isolation gets none; everybody else gets all of it or no run.
  const requires = sandbox.name === 'process' ? new Map() : REQUIRED;
  return { store, sandbox, dataDirectory: options.dataDirectory, limits: DEFAULT_RUN_LIMITS, requires };
}
