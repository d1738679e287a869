import type { FastifyRequest } from 'fastify';
import { type LogPart, mayHaveLog, type Run, type RunService } from '../service/index.ts';
import { type ExecutionAnswer, toState } from '../wire/index.ts';
import { absolute, type RouteContext } from './routes/context.ts';

/** All of an execution. The URL of its files is signed now: the record holds none that could grow old. */
export async function toExecution(
  request: FastifyRequest,
  run: Run,
  context: RouteContext,
  withLogs = true,
): Promise<ExecutionAnswer> {
  const { runs } = request.service;
  const { urlSeconds, maxLogChars } = context.limits;
  const [log, url] = await Promise.all([
    withLogs ? logText(runs, run, maxLogChars) : { text: '', truncated: run.logBytes > 0 },
    run.archive === null ? null : runs.artifactUrl(run.id, null, urlSeconds),
  ]);
  return {
    ...toState(run),
    logs: log.text,
    logs_truncated: log.truncated,
    files_url: url === null ? null : absolute(url, request, context),
  };
}

/** What it printed, in order, both streams in one, up to a bound. */
async function logText(runs: RunService, run: Run, most: number): Promise<{ text: string; truncated: boolean }> {
  if (!mayHaveLog(run)) return { text: '', truncated: false };
  let text = '';
  for await (const { lines } of logParts(runs, run.id, 0)) {
    for (const line of lines) {
      text += line.text;
      if (text.length > most) return { text: text.slice(0, most).toWellFormed(), truncated: true };
    }
  }
  return { text, truncated: false };
}

/** What there is now, part by part. */
export async function* logParts(runs: RunService, id: string, offset: number): AsyncGenerator<LogPart> {
  for (let at = offset; ; ) {
    const part = await runs.logs(id, at);
    if (part.lines.length > 0) yield part;
    if (part.offset === at) return;
    at = part.offset;
  }
}
