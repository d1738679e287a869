import { EXIT, SkillboxError } from '../../base/index.ts';
import { mayHaveLog, type Run, type Service } from '../../service/index.ts';
import { type Ending, type EndingStatus, statusOf } from '../../skill/index.ts';
import type { Io } from '../io.ts';
import { LiveView } from '../live-view.ts';
import { type FilesIn, MAX_LOG_BYTES, renderResult, resultJson, showLog } from '../run-result.ts';

const URL_SECONDS = 3600;

/** A run on a server as a person follows it. Whoever interrupts asks it to end, and sees how it ended. */
export async function followRemote({ runs }: Service, started: Run, json: boolean, io: Io, on: string): Promise<Run> {
  const live = io.interactive && !json ? new LiveView(io) : null;
  const cancel = () => void runs.cancel(started.id).catch(() => undefined);
  io.interrupt.addEventListener('abort', cancel, { once: true });
  if (io.interrupt.aborted) cancel();
  try {
    if (started.endedAt === null && started.state !== 'waiting') {
      for await (const event of runs.follow(started.id, { offset: 0, signal: null })) {
        if (event.kind === 'log') live?.add(event.line.text);
        else if (event.run.state === 'waiting') break;
        else live?.setState(event.run.state);
      }
    }
    return await runs.get(started.id);
  } catch (error) {
    throw withRun(error, started.id, on);
  } finally {
    io.interrupt.removeEventListener('abort', cancel);
    live?.end();
  }
}

/** Whoever loses sight of a run must know which one it was: nothing of it has been printed yet. */
function withRun(error: unknown, run: string, on: string): unknown {
  if (!(error instanceof SkillboxError) || error.code !== 'SERVER_UNREACHABLE') return error;
  return new SkillboxError(error.code, error.message, {
    hint: `When the server answers again, \`skillbox exec show ${run}${on}\` tells how the run went.`,
    details: { ...error.details, run },
    cause: error,
  });
}

/** Prints the result; the answer is the exit code. */
export async function reportRemote(
  service: Service,
  run: Run,
  json: boolean,
  io: Io,
  filesIn: FilesIn | null,
  on: string,
): Promise<number> {
  if (json) io.out(`${JSON.stringify(await remoteJson(service, run), null, 2)}\n`);
  else {
    if (run.skill.dialect !== 'gibberish') await showLog(logOf(service, run), io);
    io.out(renderResult(run, io.paint, filesIn, on));
  }
  // On a server it may have ended without having begun, or not have ended: then its state is all there is.
  if (run.ending === null) return run.state === 'waiting' ? EXIT.denied : EXIT.failed;
  // A newer server may know endings that are not known here.
  const status: EndingStatus | undefined = statusOf(run.ending as Ending);
  return status?.exit ?? EXIT.failed;
}

export async function remoteJson(service: Service, run: Run): Promise<object> {
  const parts: string[] = [];
  let bytes = 0;
  for await (const text of logOf(service, run)) {
    bytes += Buffer.byteLength(text);
    parts.push(text);
    if (bytes > MAX_LOG_BYTES) break;
  }
  const whole = parts.join('');
  const truncated = bytes > MAX_LOG_BYTES;
  const text = truncated ? Buffer.from(whole).subarray(0, MAX_LOG_BYTES).toString('utf8') : whole;
  const filesUrl = run.archive === null ? null : await service.runs.artifactUrl(run.id, null, URL_SECONDS);
  return resultJson(run, { text, truncated, filesUrl });
}

async function* logOf({ runs }: Service, run: Run): AsyncGenerator<string> {
  for (let offset = 0; mayHaveLog(run); ) {
    const part = await runs.logs(run.id, offset);
    for (const line of part.lines) yield line.text;
    if (part.complete || part.offset === offset) return;
    offset = part.offset;
  }
}
