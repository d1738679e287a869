import type { LogEntry, RunRecord, Skillbox } from '../app.ts';
import { type JsonValue, renderDuration, renderSize, visible, visibleLine } from '../base/index.ts';
import type { Paint } from './io.ts';

const MAX_LOG_BYTES = 1024 ** 2;

/** The result as machines read it; the names are those of the published Skillbox clients. */
export function toJson(record: RunRecord, skillbox: Skillbox): object {
  return {
    execution_id: record.id,
    status: record.state,
    exit_code: record.exitCode,
    end: record.ending,
    output: record.output,
    logs: readLogText(skillbox, record.id).text,
    files_list: record.artifacts.map(artifact => artifact.path),
    files_url: record.archive === null ? null : skillbox.blobUrl(record.archive.sha256),
    artifacts: record.artifacts.map(({ path, bytes, sha256 }) => ({ path, size: bytes, sha256 })),
    duration_ms: durationOf(record),
    error: record.error,
    warnings: record.warnings,
    usage: record.usage,
    skill: record.skill,
    sandbox: record.sandbox,
  };
}

/** What was printed, in order, up to a bound that is said. */
export function readLogText(skillbox: Skillbox, id: string): { text: string; truncated: boolean } {
  const parts: Buffer[] = [];
  let bytes = 0;
  for (const { bytes: part } of readEntries(skillbox, id)) {
    parts.push(part.subarray(0, MAX_LOG_BYTES - bytes));
    bytes += part.length;
    if (bytes >= MAX_LOG_BYTES) return { text: Buffer.concat(parts).toString('utf8'), truncated: true };
  }
  return { text: Buffer.concat(parts).toString('utf8'), truncated: false };
}

export function* readEntries(skillbox: Skillbox, id: string): Generator<LogEntry> {
  for (let offset = 0; ; ) {
    const { entries, offset: next } = skillbox.readLogs(id, offset);
    yield* entries;
    if (next === offset) return;
    offset = next;
  }
}

function durationOf(record: RunRecord): number | null {
  return record.startedAt === null || record.endedAt === null ? null : record.endedAt - record.startedAt;
}

/** The result for a person; everything from the skill is made safe for a terminal. */
export function renderResult(record: RunRecord, paint: Paint): string {
  const good = record.state === 'success';
  const mark = good ? paint('green', '✔') : paint('red', '✖');
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
      'files:',
      ...record.artifacts.map(({ path, bytes }) => `  ${visibleLine(path)}  ${renderSize(bytes)}`),
    );
  }
  for (const warning of record.warnings) lines.push(`${paint('yellow', 'warning')}: ${visible(warning)}`);
  const ran =
    record.sandbox === null
      ? 'never started'
      : `${record.sandbox.driver}, ${record.sandbox.runtime ?? 'unknown runtime'}`;
  lines.push(paint('dim', `run ${record.id} (${ran})`));
  return `${lines.join('\n')}\n`;
}

function renderOutput(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2);
}
