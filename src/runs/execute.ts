import type { AuditEvent } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { Manager } from '../layers/index.ts';
import { leavesTraces } from '../policy/index.ts';
import type { Handle, Outcome } from '../sandbox/index.ts';
import { type Ending, statusOf } from '../skill/index.ts';
import type { RunLog, RunRecord } from '../store/index.ts';
import { type Cancel, watchCancel } from './cancel.ts';
import { wholeCharacters } from './characters.ts';
import { fail, failBy, setEnding } from './endings.ts';
import { Excerpt } from './envelope.ts';
import { endedEvent, requeuedEvent, startedEvent } from './events.ts';
import { holdImage } from './image.ts';
import { isInterrupted } from './interrupt.ts';
import { lost } from './lost.ts';
import { openNetwork } from './network.ts';
import { Pen, type Unwritten } from './pen.ts';
import type { Planned, Runner } from './plan.ts';
import { recordResults } from './results.ts';
import { scrubChunks, scrubRecord } from './scrub.ts';

export type RunHooks = {
  onState: (record: RunRecord) => void;
  onChunk: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  /** More of its log can be read; for whoever reads it there. */
  onKept?: () => void;
  /** While dependencies are built, before the run itself: what the package manager said last. */
  onBuild: (manager: Manager, line: string) => void;
  signal: AbortSignal | null;
};

const KEPT_STREAM_BYTES = 1024 ** 2;
/** How long a process that stops waits for what its runs left to be stored. */
const STOPPING_MS = 5_000;
/** How many are told by name. */
const MAX_PLANTED = 20;

type Going = { runner: Runner; record: RunRecord; planned: Planned; hooks: RunHooks; cancel: Cancel; pen: Pen };

/** A run that was allowed. */
export type Allowed = {
  record: RunRecord;
  planned: Planned;
  /** Makes ready what was only planned, such as packages; its faults are the run's. */
  complete: (planned: Planned, signal: AbortSignal) => Promise<Planned>;
  /** That it was allowed, where that is still to be written. */
  unwritten: Unwritten | null;
};

/** Runs what was allowed, and records what becomes of it. */
export async function execute(
  runner: Runner,
  { record, planned, complete, unwritten }: Allowed,
  hooks: RunHooks,
): Promise<RunRecord> {
  hooks.onState(record);
  const cancel = watchCancel(runner.store, record.id, hooks.signal);
  const pen = new Pen(runner.store.runs, record, unwritten);
  const going: Going = { runner, record, planned, hooks, cancel, pen };
  const held: { release: (() => void) | null } = { release: null };
  try {
    if (planned.image !== null) held.release = holdImage(runner.images, planned.image);
    going.planned = await complete(planned, cancel.signal);
    await carryOut(going);
  } catch (error) {
    if (await goesBack(going)) return record;
    if (isCanceled(going)) return await endCanceled(going);
    failBy(record, error);
    await finish(going).catch(() => undefined); // the first fault is the one to tell; a sweep ends the record
    throw ofRun(error, record);
  } finally {
    cancel.stop();
    held.release?.();
  }
  await finish(going);
  return record;
}

/** Whoever is told of the fault alone can still find the run that it ended. */
function ofRun(error: unknown, { id }: RunRecord): unknown {
  if (!(error instanceof SkillboxError)) return error;
  const { code, message, hint, details } = error;
  return new SkillboxError(code, message, { hint, details: { ...details, run: id }, cause: error });
}

/** Somebody gave it up before it had begun: while its packages were built, as a rule. */
function isCanceled({ cancel, hooks, record }: Going): boolean {
  return cancel.isAsked() && !isInterrupted(hooks.signal) && record.startedAt === null;
}

async function endCanceled(going: Going): Promise<RunRecord> {
  setEnding(going.record, { kind: 'canceled' });
  await finish(going);
  return going.record;
}

/** Whoever stops the process puts what has not begun back in line, for the next one. */
async function goesBack({ runner, record, hooks }: Going): Promise<boolean> {
  if (!isInterrupted(hooks.signal) || record.waiting === null || record.state !== 'preparing') return false;
  const { queue } = runner.store;
  if (!(await queue.requeue({ ...record, owner: '' }, [requeuedEvent(record)]))) return false;
  Object.assign(record, { state: 'queued', owner: '', attempt: record.attempt + 1 });
  hooks.onState(record);
  return true;
}

async function carryOut(going: Going): Promise<void> {
  const { runner, record, planned } = going;

  // Asked for while the sandbox is made ready, and before it starts: where no log can be written, nothing runs.
  const opening = runner.store.logs.create(record, going.hooks.onKept);
  opening.catch(() => undefined); // told where it is waited for
  try {
    const way = await openNetwork(runner, record, planned);
    // From here on whatever the run prints or leaves may hold what it was lent.
    going.planned = { ...planned, redact: way.redact ?? planned.redact };
    try {
      const handle = await runner.sandbox.prepare(way.spec);
      try {
        await startAndCollect(going, await opening, handle);
      } finally {
        await runner.afterwards.add(handle.dispose());
      }
    } finally {
      await way.close();
    }
  } finally {
    await opening.then(
      log => log.close(),
      () => undefined,
    );
  }
}

async function startAndCollect(going: Going, log: RunLog, handle: Handle): Promise<void> {
  const { runner, record, planned, hooks, cancel } = going;
  const merged = new Excerpt();
  let fault: { error: unknown } | null = null;
  record.startedAt = Date.now();
  await enterRunning(going, startedEvent(record, runner.sandbox));
  const whole = wholeCharacters((stream, chunk) => {
    log.write(stream, chunk);
    merged.add(chunk);
    hooks.onChunk(stream, chunk);
  });
  const printed = scrubChunks(planned.redact, whole.write);
  const outcome = await handle.start({
    stdin: planned.invocation.stdin,
    keepBytes: KEPT_STREAM_BYTES,
    signal: cancel.signal,
    onChunk: (stream, chunk) => {
      if (fault !== null) return;
      try {
        printed.write(stream, chunk);
      } catch (error) {
        // A run that nobody can follow any more is ended; the error is told after its last process.
        fault = { error };
        cancel.now();
      }
    },
  });
  throwIfAny(fault);
  printed.end();
  whole.end();
  await log.close();
  record.logBytes = log.bytes;
  describe(record, runner.sandbox.name, outcome);
  if (outcome.end.kind === 'canceled' && isInterrupted(hooks.signal)) endInterrupted(record);
  const { blobs } = runner.store;
  const signal = enoughOf(going);
  const ended = { planned, outcome, merged, blobs, hostPath: (at: string) => handle.path(at), signal };
  try {
    await collecting(going, recordResults(record, ended));
  } catch (error) {
    if (!signal.aborted) throw error;
    if (isInterrupted(hooks.signal)) endInterrupted(record);
    else setEnding(record, { kind: 'canceled' });
  }
}

function endInterrupted(record: RunRecord): void {
  fail(record, { kind: 'interrupted' }, 'the process that ran it was stopped');
}

/** What was ended because the process stops has a moment for what it left; what is canceled now has none. */
function enoughOf({ cancel, hooks }: Going): AbortSignal {
  if (!cancel.signal.aborted) return cancel.signal;
  return isInterrupted(hooks.signal) ? AbortSignal.timeout(STOPPING_MS) : new AbortController().signal;
}

/** Told at once to whoever watches; written down only when it takes so long that others may ask. */
async function collecting({ record, planned, hooks, pen }: Going, work: Promise<void>): Promise<void> {
  record.state = 'collecting';
  const scrub = () => scrubRecord(planned.redact, record);
  scrub();
  hooks.onState(record);
  pen.writeIfSlow(scrub);
  try {
    await work;
  } finally {
    await pen.rest().catch(() => undefined); // the end is written too, and tells of its fault
  }
}

/** A function of its own, because the compiler does not see that a callback sets the variable. */
function throwIfAny(fault: { error: unknown } | null): void {
  if (fault !== null) throw fault.error;
}

/**
 * The mark that it has begun, before its first process: what has it is never started again, and whoever has lost the run
 * meanwhile starts nothing.
 */
async function enterRunning({ record, planned, hooks, pen }: Going, event: AuditEvent): Promise<void> {
  record.state = 'running';
  // What could go back to the queue and leaves traces must not be started twice, not even after a power cut.
  const durability = record.waiting !== null && leavesTraces(planned.wish.grant) ? 'full' : 'later';
  record.waiting = null;
  if (!(await pen.write([event], durability))) throw lost(record);
  hooks.onState(record);
}

function describe(record: RunRecord, driver: string, outcome: Outcome): void {
  const { runtime } = outcome;
  const version = runtime.version === null ? runtime.name : `${runtime.name} ${runtime.version}`;
  record.sandbox = { driver, enforces: Object.fromEntries(outcome.held), runtime: `${version}, ${runtime.from}` };
  record.usage = outcome.usage;
  // What is still there is not to be lost among what is not.
  const stays = outcome.planted.filter(({ movedTo }) => movedTo === null);
  const gone = outcome.planted.filter(({ movedTo }) => movedTo !== null);
  for (const { path, movedTo } of [...stays, ...gone].slice(0, MAX_PLANTED)) {
    record.warnings.push(
      path === '.'
        ? 'the run made too much to look through; look for configuration that it planted before you open the folder'
        : `the run changed the protected ${path}; ${movedTo === null ? 'it could not be moved away: look at it before you go there' : `it was moved to ${movedTo}`}`,
    );
  }
  const more = outcome.planted.length - MAX_PLANTED;
  if (more > 0) record.warnings.push(`the run changed ${more} more protected paths`);
  setEnding(record, outcome.end);
}

async function finish({ record, hooks, planned, pen }: Going): Promise<void> {
  const { status } = statusOf(record.ending as Ending);
  record.state = status === 'waiting' ? 'failed' : status;
  record.endedAt = Date.now();
  record.waiting = null;
  scrubRecord(planned.redact, record);
  if (!(await pen.write([endedEvent(record)]))) throw lost(record);
  hooks.onState(record);
}
