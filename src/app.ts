import { join } from 'node:path';
import { type GivenAnswer, openAnswers } from './approvals/index.ts';
import { type Audit, openAudit } from './audit/index.ts';
import { SkillboxError } from './base/index.ts';
import type { BrokerSurroundings } from './broker/index.ts';
import type { CatalogEvent } from './catalog/index.ts';
import { type DriverOptions, type Drivers, openDrivers } from './drivers.ts';
import { DEFAULT_IMAGE_LIMITS, type Image, type Imported, type ImportHooks, openImages } from './images/index.ts';
import type { InstallEvent } from './install/index.ts';
import { type Allowed, BUILD_LIMITS, createLayers, type IndexSettings } from './layers/index.ts';
import {
  createJudge,
  createTrusting,
  type JudgeOptions,
  openTrustStore,
  type Policies,
  type Trusting,
} from './policy/index.ts';
import {
  type Approving,
  type Considered,
  canceledEvent,
  cancelWaiting,
  checkWorkspace,
  considerRun,
  createAfterwards,
  createApproving,
  DEFAULT_RUN_LIMITS,
  type Explained,
  type ExplainRequest,
  explainRun,
  historyOf,
  holdsHome,
  type LogEntry,
  localActor,
  planRun,
  type Question,
  REQUIRED,
  type Reply,
  type RunHooks,
  type Runner,
  type RunRequest,
  readLog,
  requireOne,
  type StartHooks,
  startRun,
  sweepAll,
  sweepRuns,
  thisWriter,
} from './runs/index.ts';
import { type Diagnosis, diagnose, type WarmReport } from './sandbox/index.ts';
import { type KeySource, openSecrets, type ProviderDesk, type SecretDesk } from './secrets/index.ts';
import { isEnded, openStore, type RunRecord, type RunState } from './store/index.ts';

export type { Audit, Checkpoint, Entry, EntryFilter, Verified, Wrong } from './audit/index.ts';
export { describeWrong, EVENT_TYPES, toOtel } from './audit/index.ts';
export type { Progress as ImportProgress } from './images/index.ts';
export type { Answer, Channel } from './policy/index.ts';
export {
  checkPolicy,
  type PolicyDiagnostic,
  SCOPES as POLICY_SCOPES,
  type Scope as PolicyScope,
  type TrustWord,
} from './policy/index.ts';
export { holdsHome, localActor } from './runs/index.ts';
export { GUARANTEES } from './sandbox/index.ts';
export {
  type Checked,
  type KnownProvider,
  MIN_SCRUBBED_BYTES,
  type ProviderDesk,
  readOwnCapabilities,
  SECRET_KINDS,
  type SecretDesk,
  type SecretInfo,
} from './secrets/index.ts';
export { isEnded, RUN_STATES } from './store/index.ts';
export type {
  Considered,
  Explained,
  ExplainRequest,
  GivenAnswer,
  Image,
  Imported,
  ImportHooks,
  LogEntry,
  Policies,
  Question,
  Reply,
  RunHooks,
  RunRecord,
  RunRequest,
  RunState,
  StartHooks,
};

export type SkillboxOptions = DriverOptions & {
  /** Where packages come from, and what of them may run when a layer is built. */
  dependencies: { indexes: IndexSettings; allow: Allowed };
  /** SB-03: null allows the default images and every imported one. */
  allowedImages: readonly string[] | null;
  /** Where the master key of the secrets comes from. */
  masterKey: KeySource;
  /** What every run's broker is told of the way out. */
  broker: BrokerSurroundings;
  /** Who may run what: the user's policy file, where the caller stands, and the directories that are vouched for. */
  policy: Omit<JudgeOptions, 'store'>;
};

/** A driver as `skillbox doctor` shows it. */
export type DriverReport = Diagnosis;

/** Everything that can be done with skills on this machine. */
export interface Skillbox {
  /** Runs it when it is allowed; the record says so when it is denied, or waits for an answer. */
  run(request: RunRequest, hooks: StartHooks): Promise<RunRecord>;
  /** What a run would start and what policy says to it, without starting it. */
  plan(request: RunRequest): Promise<Considered>;
  approvals: Approving;
  listRuns(filter: { states: readonly RunState[] | null; limit: number }): Promise<RunRecord[]>;
  /** By id, or by the beginning of one. */
  getRun(id: string): Promise<RunRecord>;
  readLogs(id: string, offset: number): { entries: LogEntry[]; offset: number };
  /** False when the run has ended already. */
  cancelRun(id: string): Promise<boolean>;
  readBlob(sha256: string): AsyncIterable<Buffer>;
  blobUrl(sha256: string, filename: string): Promise<string>;
  importImage(name: string, path: string, hooks: ImportHooks): Promise<Imported>;
  listImages(): Promise<Image[]>;
  removeImage(name: string): Promise<Image>;
  /** What is in force for runs in this workspace. */
  policies(workspace: string | null): Policies;
  /** Which rule decides about a skill, and why; nothing is made ready. */
  explain(request: ExplainRequest): Promise<Explained>;
  trust: Trusting;
  /** Stored secrets, never their values. */
  readonly secrets: SecretDesk;
  /** What capabilities stand for. */
  readonly providers: ProviderDesk;
  /** Probes every sandbox driver by really starting something. */
  examine(): Promise<DriverReport[]>;
  /** What is held ready for runs to come. */
  warmth(): WarmReport;
  /** The real path of a folder that an agent may work in; neither the home nor what Skillbox keeps may lie in it. */
  checkWorkspace(path: string): string;
  /** Tells the journal what an agent is about to be given, that there is other to be given, or what is installed next. */
  note(event: CatalogEvent | InstallEvent): Promise<void>;
  /** The journal of everything that happened. */
  readonly audit: Audit;
  /** When the sandboxes of all runs that have ended are taken down. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const LOG_CHUNK_BYTES = 1024 ** 2;
const URL_SECONDS = 60 * 60;

/** The only wiring: store, sandbox and runs on one data directory. */
export async function createSkillbox(
  options: SkillboxOptions,
  drivers: Drivers = openDrivers(options),
): Promise<Skillbox> {
  const writer = thisWriter();
  const store = openStore(options.dataDirectory, writer);
  const answers = openAnswers(store.answers, join(options.dataDirectory, 'approvals.key'));
  const images = openImages({
    directory: join(options.dataDirectory, 'images'),
    owners: { mine: () => writer.id, isAlive: id => !writer.isDead(id) },
    limits: DEFAULT_IMAGE_LIMITS,
    before: (change, { name, digest, source }) =>
      store.journal.append({
        type: change === 'import' ? 'image.imported' : 'image.removed',
        actor: localActor(),
        tenant: null,
        subject: name,
        data: change === 'import' ? { digest, source } : { digest },
      }),
  });
  const { secrets, providers, lending } = openSecrets({
    rows: store.secrets,
    journal: store.journal,
    dataDirectory: options.dataDirectory,
    masterKey: options.masterKey,
    actor: localActor(),
  });
  const trust = openTrustStore(options.dataDirectory);
  const judge = createJudge({ ...options.policy, store: trust });
  const afterwards = createAfterwards();
  // Chosen at the first run: a command that runs nothing probes nothing.
  let runner: Promise<Runner> | null = null;
  const ready = () => {
    runner ??= prepareRunner(
      options,
      { store, images, answers, writer, judge, afterwards, lending, providers },
      drivers,
    ).catch((error: unknown) => {
      runner = null; // the next run tries again
      throw error;
    });
    return runner;
  };
  const get = async (id: string): Promise<RunRecord> => {
    const record =
      (await store.runs.get(id)) ??
      (await store.runs.get(requireOne(await store.runs.find(id), id, 'run', 'skillbox exec list')));
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
      return startRun(await ready(), request, hooks);
    },
    async plan(request) {
      const on = await ready();
      return considerRun(on, request, await planRun(on, request, null));
    },
    approvals: createApproving(answers, ready, find),
    async listRuns(filter) {
      await sweepRuns(store);
      return store.runs.list(filter);
    },
    getRun: find,
    readLogs: (id, offset) => readLog(join(options.dataDirectory, 'logs'), id, offset, LOG_CHUNK_BYTES),
    async cancelRun(id) {
      const record = await find(id);
      if (isEnded(record.state)) return false;
      if (record.state === 'waiting' && (await cancelWaiting(store, record))) return true;
      return store.runs.requestCancel(record.id, [canceledEvent(localActor(), record)]);
    },
    async *readBlob(sha256) {
      const content = await store.blobs.read(sha256);
      if (content === null) throw new SkillboxError('NOT_FOUND', `there is no blob ${sha256}`);
      yield* content;
    },
    blobUrl: (sha256, filename) =>
      store.blobs.url(sha256, { filename, contentType: 'application/gzip', seconds: URL_SECONDS, tenant: null }),
    importImage: (name, path, hooks) => images.import(name, path, hooks),
    listImages: async () => images.list(),
    async removeImage(name) {
      const removed = await images.remove(name);
      if (removed === null)
        throw new SkillboxError('NOT_FOUND', `there is no image "${name}"`, {
          hint: 'skillbox image list shows them.',
        });
      return removed;
    },
    policies: workspace => judge.policies(workspace),
    explain: request =>
      explainRun(
        { judge, isolated: options.sandbox !== 'process', dataDirectory: options.dataDirectory },
        request,
        wish => historyOf(answers, wish, request.folder.origin.path),
      ),
    secrets,
    providers,
    trust: createTrusting(trust, options.policy.own, holdsHome, (change, { kind, value }) =>
      store.journal.append({
        type: change === 'add' ? 'trust.added' : 'trust.removed',
        actor: localActor(),
        tenant: null,
        subject: value,
        data: { kind },
      }),
    ),
    examine: () => diagnose(drivers.all),
    warmth: () => drivers.warmth(),
    checkWorkspace: path => checkWorkspace(path, options.dataDirectory),
    note: event => store.journal.append({ ...event, actor: localActor(), tenant: null }),
    audit: openAudit(store.journal, join(options.dataDirectory, 'audit')),
    settled: () => afterwards.settled(),
    async close() {
      try {
        await afterwards.settled();
      } finally {
        await Promise.all(drivers.all.map(driver => driver.close()));
        images.close();
        await store.close();
      }
    },
  };
}

/** What a killed process left behind is cleared once, before the first run of this one. */
async function prepareRunner(
  { dataDirectory, search, dependencies, docker, allowedImages, broker }: SkillboxOptions,
  kept: Pick<Runner, 'store' | 'images' | 'answers' | 'writer' | 'judge' | 'afterwards' | 'lending' | 'providers'>,
  drivers: Drivers,
): Promise<Runner> {
  const sandbox = await drivers.choose();
  const layers = createLayers({
    directory: join(dataDirectory, 'layers'),
    sandbox,
    programs: {
      search,
      notes: join(dataDirectory, 'sandbox'),
      container: sandbox.name === 'docker' ? docker.defaultImage : null,
    },
    ...dependencies,
    limits: BUILD_LIMITS,
    // Also for those who run without isolation: what is built is kept, and used by others.
    requires: REQUIRED,
  });
  const imagePolicy = { allowed: allowedImages };
  const limits = DEFAULT_RUN_LIMITS;
  const runner = { ...kept, sandbox, layers, imagePolicy, dataDirectory, limits, surroundings: broker };
  await sweepAll(runner);
  await layers.sweep();
  return runner;
}
