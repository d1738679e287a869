import type { JsonObject, JsonValue } from '../base/index.ts';
import type { Bytes, Page, Paging } from './service.ts';

/** Runs of the tenant; REST calls them executions. */
export interface RunService {
  /**
   * Answers as soon as the run is recorded: it is queued, waits for a person, was denied, or has begun. What was accepted is
   * never lost. The same idempotency key with the same request answers the same run; with another request it is refused.
   */
  start(request: StartRequest, options: StartOptions): Promise<Run>;
  /** What would run and what policy says to it; nothing is started. */
  plan(request: StartRequest): Promise<JsonObject>;
  /** Resolves when the run has ended, waits for a person, or `timeoutMs` are over, whichever comes first. */
  wait(id: string, options: { timeoutMs: number | null; signal: AbortSignal | null }): Promise<Run>;
  get(id: string): Promise<Run>;
  /** Newest first, without outputs. */
  list(filter: RunFilter & Paging): Promise<Page<Run>>;
  /** From an offset of its log on: 0 for all of it. Answers at once with what there is. */
  logs(id: string, offset: number): Promise<LogPart>;
  /** Every change and every line from an offset on, until the run has ended. */
  follow(id: string, options: { offset: number; signal: AbortSignal | null }): AsyncIterable<RunEvent>;
  /** False when it has ended already. */
  cancel(id: string): Promise<boolean>;
  /** One artifact by its path; null as path for all of them as a tar.gz. */
  artifact(id: string, path: string | null): Promise<{ artifact: Artifact; content: Bytes }>;
  /** A URL that anybody may fetch until it expires: signed now, whoever asked. */
  artifactUrl(id: string, path: string | null, seconds: number): Promise<string>;
}

export type StartRequest = {
  skill: string;
  /** A version, a range, a tag; null for `latest`. */
  version: string | null;
  target: RunTarget;
  input: JsonValue;
  stdin: string | null;
  env: Record<string, string>;
  /** null: the skill's own. A caller can only shorten it. */
  timeoutMs: number | null;
  /** Given beside what the skill declares; policy and people judge them all the same. Absent: none. */
  capabilities?: string[];
};
export type RunTarget =
  | { kind: 'main' }
  | { kind: 'tool'; name: string; arguments: JsonObject }
  | { kind: 'script'; path: string; arguments: string[] };

export type StartOptions = { idempotencyKey: string | null };

export const RUN_STATES = [
  'waiting',
  'queued',
  'preparing',
  'running',
  'collecting',
  'success',
  'failed',
  'timeout',
] as const;
/** `waiting`: for a person. `queued`: for its turn. The last three are ends and never change again. */
export type RunState = (typeof RUN_STATES)[number];

export type RunFilter = { states: readonly RunState[] | null; skill: string | null; since: number | null };

export type Run = {
  id: string;
  state: RunState;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  skill: { name: string; version: string | null; digest: string; dialect: string };
  target: string;
  /** Who asked for it. */
  by: string;
  /** How it ended, as X-13 names it; null before. */
  ending: JsonValue;
  exitCode: number | null;
  output: JsonValue;
  error: { code: string; message: string } | null;
  warnings: string[];
  sandbox: { driver: string; enforces: Record<string, string>; runtime: string | null } | null;
  decision: { verdict: string; trust: string; rule: JsonObject; reasons: string[] } | null;
  approval: { answer: string; channel: string; by: string; at: number } | null;
  artifacts: Artifact[];
  /** The artifacts as one tar.gz; null when there are none. */
  archive: { sha256: string; bytes: number } | null;
  usage: { cpuMs: number; maxMemoryBytes: number } | null;
  logBytes: number;
};

/** Its log is measured at its end; of a run that goes on, or that its process took along, the log alone says whether there is one. */
export function mayHaveLog({ startedAt, endedAt, error, logBytes }: Run): boolean {
  if (logBytes > 0) return true;
  return startedAt !== null && (endedAt === null || error?.code === 'INTERRUPTED');
}

export type Artifact = { path: string; bytes: number; sha256: string };

export type LogLine = { stream: 'stdout' | 'stderr'; timeMs: number; text: string };
/** `offset`: where the next part begins. `complete`: the run has ended, and this is all. */
export type LogPart = { lines: LogLine[]; offset: number; complete: boolean };
/** `offset` with each event: whoever comes back with it misses nothing and sees nothing twice. */
export type RunEvent = { kind: 'state'; run: Run; offset: number } | { kind: 'log'; line: LogLine; offset: number };
