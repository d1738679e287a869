import { join } from 'node:path';
import { SkillboxError } from './base/index.ts';
import {
  DEFAULT_RUN_LIMITS,
  executeRun,
  type LogEntry,
  type Planned,
  planRun,
  type RunHooks,
  type Runner,
  type RunRequest,
  readLog,
  requireId,
  sweepAll,
  sweepRuns,
  thisWriter,
} from './runs/index.ts';
import { createBubblewrap, DEFAULT_UIDS, type Enforces, type Problem } from './sandbox/index.ts';
import { isEnded, openStore, type RunRecord, type RunState } from './store/index.ts';

export { holdsHome } from './runs/index.ts';
export { GUARANTEES } from './sandbox/index.ts';
export { isEnded, RUN_STATES } from './store/index.ts';
export type { LogEntry, Planned, RunHooks, RunRecord, RunRequest, RunState };

export type SkillboxOptions = {
  dataDirectory: string;
  /** Where interpreters are looked for before the system's directories. */
  search: readonly string[];
};

/** A driver as `skillbox doctor` shows it. */
export type DriverReport = { driver: string; usable: boolean; enforces: Enforces; problems: Problem[] };

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
  close(): Promise<void>;
}

const LOG_CHUNK_BYTES = 1024 ** 2;

/** The only wiring: store, sandbox and runs on one data directory. */
export async function createSkillbox(options: SkillboxOptions): Promise<Skillbox> {
  const writer = thisWriter();
  const store = openStore(options.dataDirectory, writer);
  const sandbox = createBubblewrap({
    stateDir: join(options.dataDirectory, 'sandbox'),
    uids: DEFAULT_UIDS,
    search: options.search,
    cgroups: true,
    bwrap: null,
    helper: null,
    spares: 0,
  });
  const runner: Runner = { store, sandbox, dataDirectory: options.dataDirectory, limits: DEFAULT_RUN_LIMITS, writer };
  // What a killed process left behind is cleared once, before the first run of this one.
  let swept: Promise<void> | null = null;
  const sweep = () => {
    swept ??= sweepAll(runner).catch((error: unknown) => {
      swept = null; // the next run tries again
      throw error;
    });
    return swept;
  };
  const get = async (id: string): Promise<RunRecord> => {
    const record = (await store.runs.get(id)) ?? (await store.runs.get(requireId(await store.runs.find(id), id)));
    if (record === null) throw new SkillboxError('NOT_FOUND', `there is no run "${id}"`);
    return record;
  };
  const find = async (id: string): Promise<RunRecord> => {
    const record = await get(id);
    // Whoever waits for the end of a run whose process was killed would wait for ever.
    return isEnded(record.state) || (await sweepRuns(store)).length === 0 ? record : get(record.id);
  };
  return {
    async run(request, hooks) {
      await sweep();
      return executeRun(runner, request, hooks);
    },
    plan: request => planRun(runner, request),
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
    async examine() {
      const problems = await sandbox.check();
      const usable = !problems.some(problem => problem.fatal);
      return [{ driver: sandbox.name, usable, enforces: sandbox.enforces, problems }];
    },
    async close() {
      await sandbox.close();
      await store.close();
    },
  };
}
