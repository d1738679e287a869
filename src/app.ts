import { join } from 'node:path';
import type { GivenAnswer } from './approvals/index.ts';
import { type Actor, type Audit, openAudit } from './audit/index.ts';
import { SkillboxError } from './base/index.ts';
import type { CatalogEvent } from './catalog/index.ts';
import { type Drivers, openDrivers } from './drivers.ts';
import type { RetentionSettings, Swept } from './executions/index.ts';
import type { Image, Imported, ImportHooks } from './images/index.ts';
import type { InstallEvent } from './install/index.ts';
import { openParts, openStoreOf, type Parts, type SkillboxOptions } from './parts.ts';
import { createTrusting, type Policies, type Trusting } from './policy/index.ts';
import {
  type Approving,
  canceledEvent,
  cancelWaiting,
  checkWorkspace,
  createApproving,
  type Explained,
  type ExplainRequest,
  explainRun,
  type Foreseen,
  foreseeRun,
  type GivenPath,
  historyOf,
  holdsHome,
  localCaller,
  type Question,
  type Reply,
  type RunHooks,
  type Runner,
  type RunRequest,
  requireOne,
  runnerFor,
  type StandbyReport,
  type StartHooks,
  startRun,
  sweepRuns,
} from './runs/index.ts';
import { type Diagnosis, diagnose, thisOwner, type WarmReport } from './sandbox/index.ts';
import type { ProviderDesk, SecretDesk } from './secrets/index.ts';
import type { SkillService, SkillVersion } from './service/index.ts';
import type { Folder } from './skill/index.ts';
import { isEnded, type LogEntry, type RunRecord, type RunState } from './store/index.ts';

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
export { describeExplained, describePlan, holdsHome, localActor, sandboxOf } from './runs/index.ts';
export { GUARANTEES } from './sandbox/index.ts';
export {
  type Checked,
  isNeverReached,
  type KnownProvider,
  MIN_SCRUBBED_BYTES,
  noProvider,
  type ProviderDesk,
  type ProviderDiagnostic,
  type RekeyWish,
  readOwnCapabilities,
  refusedHosts,
  SECRET_KINDS,
  type SecretDesk,
  type SecretInfo,
} from './secrets/index.ts';
export { isEnded, RUN_STATES } from './store/index.ts';
export type {
  Explained,
  ExplainRequest,
  Foreseen,
  GivenAnswer,
  GivenPath,
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
  SkillboxOptions,
  StartHooks,
};

/** A driver as `skillbox doctor` shows it. */
export type DriverReport = Diagnosis;

/** Everything that can be done with skills on this machine. */
export interface Skillbox {
  /** Runs it when it is allowed; the record says so when it is denied, or waits for an answer. */
  run(request: RunRequest, hooks: StartHooks): Promise<RunRecord>;
  /** What a run would start and what policy says to it, without starting it. */
  plan(request: RunRequest): Promise<Foreseen>;
  approvals: Approving;
  /** Forgets every answer of a tenant of the server that works on this store. */
  resetTenant(tenant: string, by: Actor): Promise<void>;
  listRuns(filter: { states: readonly RunState[] | null; limit: number }): Promise<RunRecord[]>;
  /** By id, or by the beginning of one. */
  getRun(id: string): Promise<RunRecord>;
  readLogs(id: string, offset: number): Promise<{ entries: LogEntry[]; offset: number }>;
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
  warmth(): WarmReport & { standby: StandbyReport };
  /** The real path of a folder that an agent may work in; neither the home nor what Skillbox keeps may lie in it. */
  checkWorkspace(path: string): string;
  /** What is published in the store of this machine, as its user sees it. */
  registry(): Promise<SkillService>;
  /** A published version, to be run: `wanted` is a version, a range, a tag, or null for `latest`. Close the folder. */
  openPublished(name: string, wanted: string | null): Promise<{ skill: SkillVersion; folder: Folder }>;
  /** Tells the journal what an agent is about to be given, that there is other to be given, or what is installed next. */
  note(event: CatalogEvent | InstallEvent): Promise<void>;
  /** The journal of everything that happened. */
  readonly audit: Audit;
  /** Removes what need not be kept any longer: runs, logs, artifacts, and copies and packages that no run has used. */
  sweepOld(settings: RetentionSettings): Promise<Swept>;
  /** Ends the runs of this process at once, without the time to end by themselves; what they left is looked through as ever. How many. */
  killRuns(): Promise<number>;
  /** When the sandboxes of all runs that have ended are taken down. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const LOG_CHUNK_BYTES = 1024 ** 2;
const URL_SECONDS = 60 * 60;

/** Store, sandbox and runs on one data directory, for the user of this machine. */
export async function createSkillbox(
  options: SkillboxOptions,
  drivers: Drivers = openDrivers(options),
): Promise<Skillbox> {
  return skillboxOf(openParts(options, drivers, await openStoreOf(options)));
}

/** The same over parts that somebody else has opened; whoever closes it closes them. */
export function skillboxOf(parts: Parts): Skillbox {
  const { options, store, images, trust, judge, afterwards, drivers } = parts;
  const caller = localCaller();
  const answers = parts.answersOf(caller.tenant);
  const ready = async (): Promise<Runner> => runnerFor(await parts.ready(), caller);
  const readyAndSwept = async () => {
    await parts.swept();
    return ready();
  };
  /** Whoever looks at what ran is shown it also where nothing can be written: on a full disk that is what helps. */
  const sweepIfWritable = () =>
    sweepRuns(store).catch((error: unknown): string[] => {
      if (error instanceof SkillboxError && error.code === 'UNWRITABLE') return [];
      throw error;
    });
  const get = async (id: string): Promise<RunRecord> => {
    const find = (wanted: string) => store.runs.get(caller.tenant, wanted);
    const record =
      (await find(id)) ??
      (await find(requireOne(await store.runs.find(caller.tenant, id), id, 'run', 'skillbox exec list')));
    if (record === null) throw new SkillboxError('NOT_FOUND', `there is no run "${id}"`);
    return record;
  };
  const find = async (id: string): Promise<RunRecord> => {
    const record = await get(id);
    // Whoever waits for the end of a run whose process was killed would wait for ever.
    return isEnded(record.state) || (await sweepIfWritable()).length === 0 ? record : get(record.id);
  };
  return {
    async run(request, hooks) {
      const on = await ready();
      const tell = { ...hooks, onState: whenRunning(hooks.onState, () => parts.swept()) };
      const record = await startRun(on, request, tell).catch(async (error: unknown) => {
        await parts.swept().catch(() => undefined); // the first fault is the one to tell
        throw error;
      });
      // What others left is no fault of this run, which has done what it does: whoever took it for failed would run it again.
      await parts.swept().catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        record.warnings.push(`what ended processes left behind could not be cleared: ${why}`);
      });
      return record;
    },
    async plan(request) {
      const on = await ready();
      return foreseeRun(on, request);
    },
    approvals: createApproving(answers, readyAndSwept, find),
    async resetTenant(tenant, by) {
      if ((await store.tenants.get(tenant)) === null)
        throw new SkillboxError('NOT_FOUND', `there is no tenant "${tenant}"`, {
          hint: 'skillbox tenant list shows them.',
        });
      await parts.answersOf(tenant).reset([{ type: 'approval.reset', actor: by, tenant, subject: null, data: {} }]);
    },
    async listRuns({ states, limit }) {
      await sweepIfWritable();
      return store.runs.list(caller.tenant, { states, limit, skill: null, since: null, after: null });
    },
    getRun: find,
    readLogs: (id, offset) => store.logs.read(id, offset, LOG_CHUNK_BYTES),
    async cancelRun(id) {
      const record = await find(id);
      if (isEnded(record.state)) return false;
      if (record.state === 'waiting' && (await cancelWaiting(store, record, caller.actor))) return true;
      return store.runs.requestCancel(caller.tenant, record.id, [canceledEvent(caller.actor, record)]);
    },
    async *readBlob(sha256) {
      const content = await store.blobs.read(sha256);
      if (content === null) throw new SkillboxError('NOT_FOUND', `there is no blob ${sha256}`);
      yield* content;
    },
    blobUrl: (sha256, filename) =>
      store.blobs.url(sha256, { filename, contentType: 'application/gzip', seconds: URL_SECONDS, tenant: null }),
    importImage: (name, path, hooks) => images.import(name, path, hooks),
    async listImages() {
      // What a killed import left is as large as an image. Where nothing can be written, the list is still shown.
      await images.sweep().catch(() => undefined);
      return images.list();
    },
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
        { judge, caller, isolated: options.sandbox !== 'process', offLimits: parts.offLimits },
        request,
        wish => historyOf(answers, wish, request.folder.origin.path, parts.secrets.providers),
      ),
    secrets: parts.secrets.secrets,
    providers: parts.secrets.providers,
    trust: createTrusting(trust, options.policy.own, holdsHome, (change, { kind, value }) =>
      store.journal.append({
        type: change === 'add' ? 'trust.added' : 'trust.removed',
        ...caller,
        subject: value,
        data: { kind },
      }),
    ),
    examine: () => diagnose(drivers.all),
    warmth: () => ({ ...drivers.warmth(), standby: parts.standby.report() }),
    checkWorkspace: path => checkWorkspace(path, parts.offLimits),
    registry: async () => (await import('./published.ts')).registryFor(parts, caller),
    openPublished: async (name, wanted) =>
      (await import('./published.ts')).openPublishedFor(parts, caller, name, wanted),
    // A reading changes nothing that a power cut could leave behind without its entry.
    note: event =>
      event.type === 'skill.activated'
        ? store.journal.note({ ...event, ...caller })
        : store.journal.append({ ...event, ...caller }),
    audit: openAudit(store.journal, join(options.dataDirectory, 'audit')),
    async sweepOld(settings) {
      const { sweepOld } = await import('./executions/index.ts');
      await images.sweep();
      return sweepOld({ store, dataDirectory: options.dataDirectory, writer: parts.writer }, settings, Date.now());
    },
    async killRuns() {
      const going = await Promise.all(drivers.all.map(driver => driver.list(thisOwner())));
      return (await Promise.all(going.flat().map(handle => handle.kill()))).length;
    },
    settled: () => afterwards.settled(),
    close: () => parts.close(),
  };
}

/**
 * Also begins the work, once the first process of the run is on its way: there is nothing else to do then but to wait for it.
 * Whoever needs the work done waits for it.
 */
function whenRunning(onState: RunHooks['onState'], work: () => Promise<void>): RunHooks['onState'] {
  return record => {
    if (record.state === 'running') setImmediate(() => void work().catch(() => undefined));
    onState(record);
  };
}
