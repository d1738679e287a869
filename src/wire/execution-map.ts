import type { JsonObject, JsonValue } from '../base/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { LogLine, Run, RunState, RunTarget, StartRequest } from '../service/index.ts';
import type { ExecutionRequest, ExecutionState, ExecutionSummary, LogLineAnswer, Status } from './execution.ts';
import { fromTime, fromTimeOrNull, toTime, toTimeOrNull } from './times.ts';

/** before its end a run is pending or running; its end is what the published clients call it. */
export function statusOf(state: RunState): Status {
  if (state === 'waiting' || state === 'queued') return 'pending';
  if (state === 'preparing' || state === 'running' || state === 'collecting') return 'running';
  return state;
}

export function toSummary(run: Run): ExecutionSummary {
  const { startedAt, endedAt } = run;
  return {
    execution_id: run.id,
    status: statusOf(run.state),
    state: run.state,
    created_at: toTime(run.createdAt),
    started_at: toTimeOrNull(startedAt),
    ended_at: toTimeOrNull(endedAt),
    duration_ms: startedAt === null || endedAt === null ? null : Math.max(0, endedAt - startedAt),
    skill: { ...run.skill },
    target: run.target,
    by: run.by,
    end: run.ending,
    exit_code: run.exitCode,
    error: run.error === null ? null : run.error.message,
    error_code: run.error === null ? null : run.error.code,
    warnings: run.warnings,
    sandbox: run.sandbox,
    decision: run.decision,
    approval: run.approval === null ? null : { ...run.approval, at: toTime(run.approval.at) },
    files_list: run.artifacts.map(({ path }) => path),
    artifacts: run.artifacts.map(({ path, bytes, sha256 }) => ({ path, size: bytes, sha256 })),
    archive: run.archive === null ? null : { sha256: run.archive.sha256, size: run.archive.bytes },
    usage: run.usage === null ? null : { cpu_ms: run.usage.cpuMs, max_memory_bytes: run.usage.maxMemoryBytes },
    log_bytes: run.logBytes,
  };
}

export function toState(run: Run): ExecutionState {
  return { ...toSummary(run), output: run.output };
}

/** `output` is missing where a list said it. */
export function fromExecution(answer: ExecutionSummary & { output?: JsonValue }): Run {
  const { archive, approval, usage } = answer;
  return {
    id: answer.execution_id,
    state: answer.state,
    createdAt: fromTime(answer.created_at),
    startedAt: fromTimeOrNull(answer.started_at),
    endedAt: fromTimeOrNull(answer.ended_at),
    skill: answer.skill,
    target: answer.target,
    by: answer.by,
    ending: answer.end,
    exitCode: answer.exit_code,
    output: answer.output ?? null,
    error: answer.error === null ? null : { code: answer.error_code ?? '', message: answer.error },
    warnings: answer.warnings,
    sandbox: answer.sandbox,
    decision: answer.decision,
    approval: approval === null ? null : { ...approval, at: fromTime(approval.at) },
    artifacts: answer.artifacts.map(({ path, size, sha256 }) => ({ path, bytes: size, sha256 })),
    archive: archive === null ? null : { sha256: archive.sha256, bytes: archive.size },
    usage: usage === null ? null : { cpuMs: usage.cpu_ms, maxMemoryBytes: usage.max_memory_bytes },
    logBytes: answer.log_bytes,
  };
}

export const toLogLine = ({ stream, timeMs, text }: LogLine): LogLineAnswer => ({ stream, time: toTime(timeMs), text });
export const fromLogLine = ({ stream, time, text }: LogLineAnswer): LogLine => ({
  stream,
  timeMs: fromTime(time),
  text,
});

type TargetFields = Pick<ExecutionRequest, 'tool' | 'script' | 'arguments'>;

/** Two of them at once, or arguments of the other kind, are a fault of the caller: nothing is guessed. */
export function toTarget({ tool, script, arguments: given }: TargetFields): RunTarget {
  if (tool !== undefined && script !== undefined) throw badTarget('tool and script exclude each other');
  if (tool !== undefined) {
    if (Array.isArray(given)) throw badTarget('the arguments of a tool are an object');
    return { kind: 'tool', name: tool, arguments: (given ?? {}) as JsonObject };
  }
  if (script !== undefined) {
    if (given !== undefined && !Array.isArray(given)) throw badTarget('the arguments of a script are a list of words');
    return { kind: 'script', path: script, arguments: given ?? [] };
  }
  if (given !== undefined) throw badTarget('arguments come with a tool or a script');
  return { kind: 'main' };
}

function badTarget(message: string): SkillboxError {
  return new SkillboxError('BODY_REFUSED', message);
}

export function fromTarget(target: RunTarget): TargetFields {
  if (target.kind === 'tool') return { tool: target.name, arguments: target.arguments };
  if (target.kind === 'script') return { script: target.path, arguments: target.arguments };
  return {};
}

/** An empty version is how the published clients say that they have none. */
export function toStartRequest(body: ExecutionRequest): StartRequest {
  refuseForeign(body);
  return {
    skill: body.skill,
    version: toWanted(body.version),
    target: toTarget(body),
    input: body.input ?? null,
    stdin: body.stdin ?? null,
    env: body.env ?? {},
    timeoutMs: body.timeout_ms ?? null,
    ...given(body.capabilities ?? []),
  };
}

/** Left out when there are none: a request without them stays the request that it was, also under its idempotency key. */
function given(capabilities: string[]): { capabilities?: string[] } {
  return capabilities.length > 0 ? { capabilities } : {};
}

const FOREIGN = ['input_files', 'entrypoint', 'session_id'] as const;

function refuseForeign(body: ExecutionRequest): void {
  const used = FOREIGN.filter(name => (body[name]?.length ?? 0) > 0);
  if (used.length === 0) return;
  throw new SkillboxError('INVALID_CALL', `this server has no ${used.join(', ')}`, {
    hint: 'Give files in the input, and name a script with `script`.',
  });
}

export function fromStartRequest(request: StartRequest): ExecutionRequest {
  return {
    skill: request.skill,
    version: request.version,
    ...fromTarget(request.target),
    input: request.input,
    stdin: request.stdin,
    env: request.env,
    timeout_ms: request.timeoutMs,
    ...given(request.capabilities ?? []),
  };
}

/** `latest` is what having no wish is called. */
export function toWanted(version: string | null | undefined): string | null {
  return version === null || version === undefined || version === '' || version === 'latest' ? null : version;
}
