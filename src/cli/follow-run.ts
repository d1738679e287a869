import type { Question, Reply, RunRecord, Skillbox, StartHooks } from '../app.ts';
import { type Ending, statusOf } from '../skill/index.ts';
import { isPerson, promptForApproval } from './approval-prompt.ts';
import type { Io } from './io.ts';
import { LiveView } from './live-view.ts';
import { createDecoder, type FilesIn, readEntries, renderResult, showLog, toJson } from './run-result.ts';

/** A run as a person follows it. `asking` answers instead of a person; without it a person is asked where there is one. */
export async function followRun(
  io: Io,
  json: boolean,
  asking: (() => Promise<Reply>) | null,
  start: (hooks: StartHooks) => Promise<RunRecord>,
): Promise<RunRecord> {
  const view = (): LiveView | null => (io.interactive && !json ? new LiveView(io) : null);
  const decode = createDecoder();
  let live = view();
  const prompt = async (question: Question): Promise<Reply | null> => {
    // Nothing is drawn over the question.
    live?.end();
    live = null;
    const reply = question.answers.terminal === undefined ? null : await promptForApproval(question, io);
    live = view();
    return reply;
  };
  try {
    return await start({
      signal: io.interrupt,
      onState: ({ state }) => live?.setState(state),
      onChunk: (stream, chunk) => live?.add(decode(stream, chunk)),
      onBuild: (manager, line) => live?.setBuild(`${manager}: ${line}`),
      ask: asking ?? (isPerson(io) ? prompt : null),
    });
  } finally {
    live?.end();
  }
}

/** Prints the result; the answer is the exit code. */
export async function reportRun(
  record: RunRecord,
  skillbox: Skillbox,
  json: boolean,
  io: Io,
  filesIn: FilesIn | null,
): Promise<number> {
  if (json) io.out(`${JSON.stringify(await toJson(record, skillbox), null, 2)}\n`);
  else {
    if (record.skill.dialect !== 'gibberish') await showLog(logOf(skillbox, record), io);
    io.out(renderResult(record, io.paint, filesIn));
  }
  return statusOf(record.ending as Ending).exit;
}

async function* logOf(skillbox: Skillbox, { id }: RunRecord): AsyncGenerator<string> {
  const decode = createDecoder();
  for await (const { stream, bytes } of readEntries(skillbox, id)) yield decode(stream, bytes);
}
