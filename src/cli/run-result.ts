import { StringDecoder } from 'node:string_decoder';
import type { LogEntry, RunRecord, Skillbox } from '../app.ts';
import { type JsonValue, renderDuration, renderSize, visible, visibleLine } from '../base/index.ts';
import type { Io, Paint } from './io.ts';

export const MAX_LOG_BYTES = 1024 ** 2;

/** What is shown of a run, wherever it ran. */
export type ShownRun = Pick<
  RunRecord,
  | 'id'
  | 'state'
  | 'createdAt'
  | 'startedAt'
  | 'endedAt'
  | 'skill'
  | 'target'
  | 'ending'
  | 'exitCode'
  | 'output'
  | 'error'
  | 'warnings'
  | 'artifacts'
  | 'archive'
> & {
  usage: object | null;
  decision: { reasons: readonly string[] } | null;
  approval: object | null;
  sandbox: { driver: string; runtime: string | null } | null;
  /** Known on the machine of the run. */
  waiting?: { expiresAt: number } | null;
};

/** The text of its log up to a bound, and where its files are fetched. */
export type Brought = { text: string; truncated: boolean; filesUrl: string | null };

/** Where its files were written to, and which of them were not. */
export type FilesIn = { directory: string; left: ReadonlySet<string> };

/** The result as machines read it; the names are those of the published Skillbox clients. */
export async function toJson(record: RunRecord, skillbox: Skillbox): Promise<object> {
  const { archive, id } = record;
  const filesUrl = archive === null ? null : await skillbox.blobUrl(archive.sha256, `${id}.tar.gz`);
  return resultJson(record, { ...(await readLogText(skillbox, id)), filesUrl });
}

export function resultJson(record: ShownRun, { text, truncated, filesUrl }: Brought): object {
  const cut = `logs holds the first ${MAX_LOG_BYTES} bytes; skillbox exec logs ${record.id} prints all`;
  return {
    execution_id: record.id,
    status: record.state,
    exit_code: record.exitCode,
    end: record.ending,
    output: record.output,
    logs: text,
    files_list: record.artifacts.map(artifact => artifact.path),
    files_url: filesUrl,
    artifacts: record.artifacts.map(({ path, bytes, sha256 }) => ({ path, size: bytes, sha256 })),
    duration_ms: durationOf(record),
    error: record.error,
    warnings: truncated ? [...record.warnings, cut] : record.warnings,
    usage: record.usage,
    skill: record.skill,
    decision: record.decision,
    approval: record.approval,
    sandbox: record.sandbox,
  };
}

/** What was printed, in order, up to a bound that is said. */
async function readLogText(skillbox: Skillbox, id: string): Promise<{ text: string; truncated: boolean }> {
  const decode = createDecoder();
  const parts: string[] = [];
  let bytes = 0;
  for await (const { stream, bytes: piece } of readEntries(skillbox, id)) {
    parts.push(decode(stream, piece.subarray(0, MAX_LOG_BYTES - bytes)));
    bytes += piece.length;
    if (bytes > MAX_LOG_BYTES) return { text: parts.join(''), truncated: true };
  }
  return { text: parts.join(''), truncated: false };
}

/** Bytes of two streams as text, piece by piece: a character may begin in one piece and end in the next of its stream. */
export function createDecoder(): (stream: LogEntry['stream'], bytes: Buffer) => string {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  return (stream, bytes) => decoders[stream].write(bytes);
}

export async function* readEntries(skillbox: Skillbox, id: string): AsyncGenerator<LogEntry> {
  for (let offset = 0; ; ) {
    const { entries, offset: next } = await skillbox.readLogs(id, offset);
    yield* entries;
    if (next === offset) return;
    offset = next;
  }
}

/** Shows what a run printed; what comes after it begins on a line of its own. */
export async function showLog(texts: AsyncIterable<string>, io: Pick<Io, 'err'>): Promise<void> {
  let last = '\n';
  for await (const text of texts) {
    io.err(visible(text));
    last = text.at(-1) ?? last;
  }
  if (last !== '\n') io.err('\n');
}

/** One line of a list: what a run was and how it ended, without what it brought. */
export function toSummary(record: ShownRun): object {
  return {
    execution_id: record.id,
    status: record.state,
    exit_code: record.exitCode,
    created_at: new Date(record.createdAt).toISOString(),
    duration_ms: durationOf(record),
    error: record.error,
    skill: record.skill,
    target: record.target,
  };
}

export function durationOf(record: ShownRun): number | null {
  return record.startedAt === null || record.endedAt === null ? null : record.endedAt - record.startedAt;
}

/** The result for a person; everything from the skill is made safe for a terminal. */
export function renderResult(record: ShownRun, paint: Paint, filesIn: FilesIn | null = null, on = ''): string {
  const good = record.state === 'success';
  const goesOn = record.endedAt === null;
  const mark = good ? paint('green', '✔') : goesOn ? paint('yellow', '…') : paint('red', '✖');
  const duration = durationOf(record);
  const took = duration === null ? '' : ` in ${renderDuration(duration)}`;
  const lines = [
    `${mark} ${paint('bold', visibleLine(record.skill.name))} ${visibleLine(record.target)}: ${record.state}${took}`,
  ];
  if (record.error !== null) lines.push(`  ${paint('red', record.error.code)}: ${visible(record.error.message)}`);
  if (record.output !== null) lines.push('', visible(renderOutput(record.output)));
  if (record.artifacts.length > 0) {
    lines.push(
      '',
      filesIn === null ? 'files:' : `files, in ${visibleLine(filesIn.directory)}:`,
      ...record.artifacts.map(({ path, bytes }) => {
        const missing = filesIn?.left.has(path) === true ? paint('yellow', '  not written') : '';
        return `  ${visibleLine(path)}  ${renderSize(bytes)}${missing}`;
      }),
    );
    if (filesIn === null)
      lines.push(paint('dim', `  to have them: skillbox exec show ${record.id} --download DIR${on}`));
  }
  for (const warning of record.warnings) lines.push(`${paint('yellow', 'warning')}: ${visible(warning)}`);
  if (record.state === 'waiting') lines.push('', ...renderWaiting(record, on));
  const ran =
    record.sandbox === null
      ? withoutSandbox(record)
      : `${record.sandbox.driver}, ${visibleLine(record.sandbox.runtime ?? 'unknown runtime')}`;
  lines.push(paint('dim', `run ${record.id} (${ran})`));
  return `${lines.join('\n')}\n`;
}

function withoutSandbox({ state, startedAt, endedAt }: ShownRun): string {
  if (endedAt === null && state !== 'waiting') return startedAt === null ? 'not started yet' : 'it goes on';
  return startedAt === null ? 'never started' : 'its sandbox was not recorded';
}

function renderOutput(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2);
}

function renderWaiting({ id, waiting = null, decision }: ShownRun, on: string): string[] {
  const until =
    waiting === null ? '' : ` until ${new Date(waiting.expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return [
    ...(decision?.reasons ?? []).map(reason => `  ${visibleLine(reason)}`),
    `  It waits for an answer${until}:`,
    `    skillbox approve show ${id}${on}`,
    `    skillbox approve allow ${id}${on}`,
    `    skillbox approve deny ${id}${on}`,
  ];
}
