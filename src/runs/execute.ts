import { join, posix } from 'node:path';
import { newId } from '../base/index.ts';
import type { Call, Invocation } from '../dialects/index.ts';
import type { Manager } from '../layers/index.ts';
import { type Outcome, type RunSpec, thisOwner } from '../sandbox/index.ts';
import { type Ending, statusOf } from '../skill/index.ts';
import type { RunRecord, Store } from '../store/index.ts';
import { COLLECT_LIMITS, collectFiles, collectOutput } from './collect.ts';
import { fail, setEnding } from './endings.ts';
import { Excerpt, makeEnvelope } from './envelope.ts';
import { LogWriter } from './logs.ts';
import { planRun, type Runner, type RunRequest } from './plan.ts';

export type RunHooks = {
  onState: (record: RunRecord) => void;
  onChunk: (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
  /** While dependencies are built, before the run itself: what the package manager said last. */
  onBuild: (manager: Manager, line: string) => void;
  signal: AbortSignal | null;
};

const KEPT_STREAM_BYTES = 1024 ** 2;
const CANCEL_POLL_MS = 250;

export async function executeRun(runner: Runner, request: RunRequest, hooks: RunHooks): Promise<RunRecord> {
  const { skill } = request;
  const { invocation, snapshot, spec, warnings } = await planRun(runner, request, {
    onProgress: hooks.onBuild,
    signal: hooks.signal,
  });
  const record: RunRecord = {
    id: newId(Date.now()),
    state: 'preparing',
    createdAt: Date.now(),
    startedAt: null,
    endedAt: null,
    skill: { name: skill.name, version: skill.version, digest: snapshot.digest, dialect: skill.dialect },
    target: targetName(request.call),
    owner: JSON.stringify(thisOwner()),
    sandbox: null,
    ending: null,
    exitCode: null,
    output: null,
    error: null,
    warnings,
    artifacts: [],
    archive: null,
    usage: null,
    logBytes: 0,
  };
  // Recorded before it happens: a run that cannot be recorded does not start.
  await runner.store.runs.insert(record);
  hooks.onState(record);
  const cancel = watchCancel(runner.store, record.id, hooks.signal);
  try {
    await carryOut(runner, record, invocation, spec, hooks, cancel.signal);
  } catch (error) {
    fail(record, { kind: 'interrupted' }, error instanceof Error ? error.message : String(error));
    await finish(runner, record, hooks);
    throw error;
  } finally {
    cancel.stop();
  }
  await finish(runner, record, hooks);
  return record;
}

async function carryOut(
  runner: Runner,
  record: RunRecord,
  invocation: Invocation,
  spec: RunSpec,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<void> {
  const handle = await runner.sandbox.prepare(spec);
  const log = new LogWriter(join(runner.dataDirectory, 'logs'), record.id);
  const merged = new Excerpt();
  try {
    record.state = 'running';
    record.startedAt = Date.now();
    await runner.store.runs.update(record);
    hooks.onState(record);
    const outcome = await handle.start({
      stdin: invocation.stdin,
      keepBytes: KEPT_STREAM_BYTES,
      signal,
      onChunk: (stream, chunk) => {
        log.write(stream, chunk);
        merged.add(chunk);
        hooks.onChunk(stream, chunk);
      },
    });
    record.state = 'collecting';
    record.logBytes = log.bytes;
    describe(record, runner.sandbox.name, outcome);
    await runner.store.runs.update(record);
    hooks.onState(record);
    await collect(runner, record, invocation, spec, outcome, merged, at => handle.path(at));
  } finally {
    log.close();
    await handle.dispose();
  }
}

function describe(record: RunRecord, driver: string, outcome: Outcome): void {
  const { runtime } = outcome;
  const version = runtime.version === null ? runtime.name : `${runtime.name} ${runtime.version}`;
  record.sandbox = { driver, enforces: Object.fromEntries(outcome.held), runtime: `${version}, ${runtime.from}` };
  record.usage = outcome.usage;
  for (const { path, movedTo } of outcome.planted) {
    record.warnings.push(
      `the run changed the protected ${path}; ${movedTo === null ? 'it was removed' : `it was moved to ${movedTo}`}`,
    );
  }
  setEnding(record, outcome.end);
}

async function collect(
  runner: Runner,
  record: RunRecord,
  invocation: Invocation,
  spec: RunSpec,
  outcome: Outcome,
  merged: Excerpt,
  hostPath: (at: string) => string,
): Promise<void> {
  if (invocation.result === 'envelope') {
    record.output = { ...makeEnvelope(outcome.end, merged, outcome.stdout, outcome.durationMs) };
  }
  const out = spec.mounts.find(mount => mount.kind === 'out');
  if (out === undefined) return;
  if (invocation.outputPath !== null) {
    const output = collectOutput(join(hostPath(out.at), posix.relative(out.at, invocation.outputPath)), COLLECT_LIMITS);
    if ('problem' in output) {
      if (statusOf(outcome.end).status === 'success') fail(record, { kind: 'bad-output' }, output.problem);
      else record.warnings.push(output.problem);
    } else {
      record.output = output.value;
      record.warnings.push(...output.warnings);
    }
  }
  const files = invocation.filesPath ?? out.at;
  const collected = await collectFiles(
    join(hostPath(out.at), posix.relative(out.at, files)),
    runner.store.blobs,
    COLLECT_LIMITS,
  );
  record.artifacts = collected.artifacts;
  record.archive = collected.archive;
  record.warnings.push(...collected.warnings);
  if (collected.problem !== null) {
    if (statusOf(outcome.end).status === 'success') fail(record, { kind: 'bad-output' }, collected.problem);
    else record.warnings.push(collected.problem);
  }
}

async function finish(runner: Runner, record: RunRecord, hooks: RunHooks): Promise<void> {
  const ending = record.ending as Ending;
  const { status } = statusOf(ending);
  record.state = status === 'waiting' ? 'failed' : status;
  record.endedAt = Date.now();
  await runner.store.runs.update(record);
  hooks.onState(record);
}

function targetName({ target }: Call): string {
  switch (target.kind) {
    case 'main':
      return 'main';
    case 'tool':
      return target.name;
    case 'script':
      return target.path;
    case 'command':
      return target.argv[0] ?? '';
  }
}

/** The caller's own signal, or a request that another process left in the store. */
function watchCancel(store: Store, id: string, outer: AbortSignal | null): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  const forward = () => controller.abort();
  if (outer?.aborted === true) forward();
  outer?.addEventListener('abort', forward, { once: true });
  const timer = setInterval(() => {
    store.runs.isCancelRequested(id).then(
      asked => asked && forward(),
      () => undefined, // the store is closing; the run ends by itself
    );
  }, CANCEL_POLL_MS);
  timer.unref();
  return {
    signal: controller.signal,
    stop: () => {
      clearInterval(timer);
      outer?.removeEventListener('abort', forward);
    },
  };
}
