import { SkillboxError } from '../base/index.ts';
import type { RunEvent, RunState } from '../service/index.ts';
import { fromExecution, fromLogLine } from '../wire/index.ts';
import { EXECUTION, LOG_LINE } from './answers.ts';
import { parseAs } from './bodies.ts';
import { type Message, messagesOf } from './event-stream.ts';
import { offsetText } from './sent.ts';
import type { Transport } from './transport.ts';

/** How often in a row a stream may end without having brought anything. */
const MAX_EMPTY = 8;

/** Every event of a run, once, also when the connection breaks in between. */
export async function* followRun(
  transport: Transport,
  id: string,
  options: { offset: number; signal: AbortSignal | null },
): AsyncGenerator<RunEvent> {
  const signal = transport.signalOf(options.signal);
  const left = () => options.signal?.aborted === true;
  let { offset } = options;
  let state: RunState | null = null;
  // `empty`: streams in a row that brought nothing. `stale`: that brought nothing new, as where somebody cuts off what is quiet.
  for (let empty = 0, stale = 0; empty < MAX_EMPTY; empty++, stale++) {
    try {
      if (stale > 0) await transport.pause(stale - 1, null, signal);
      const answer = await transport.send({
        method: 'GET',
        path: ['v1', 'executions', id, 'events'],
        headers: { accept: 'text/event-stream', 'last-event-id': offsetText(offset) },
        safety: 'always',
        signal,
      });
      for await (const message of messagesOf(answer)) {
        const event = toEvent(message);
        if (event === null) continue;
        empty = 0;
        offset = event.offset;
        // Whoever comes back is told again how it stands.
        if (event.kind === 'state' && event.run.state === state && event.run.endedAt === null) continue;
        stale = 0;
        yield event;
        if (event.kind === 'log') continue;
        state = event.run.state;
        if (event.run.endedAt !== null) return;
      }
    } catch (error) {
      if (left()) return;
      if (signal.aborted || !isBreak(error)) throw error;
    }
  }
  throw new SkillboxError('SERVER_UNREACHABLE', 'the stream of events keeps breaking off');
}

/** What was answered, and is none of ours, will be so again. */
function isBreak(error: unknown): boolean {
  return error instanceof SkillboxError && error.code === 'SERVER_UNREACHABLE' && error.details.status !== 200;
}

function toEvent({ event, id, data }: Message): RunEvent | null {
  const offset = Number.parseInt(id, 10);
  if (!Number.isSafeInteger(offset)) return null;
  if (event === 'log') return { kind: 'log', line: fromLogLine(parseAs(data, LOG_LINE, 200)), offset };
  if (event === 'state') return { kind: 'state', run: fromExecution(parseAs(data, EXECUTION, 200)), offset };
  return null;
}
