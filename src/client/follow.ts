import { SkillboxError } from '../base/index.ts';
import type { RunEvent, RunState } from '../service/index.ts';
import { type ExecutionState, fromExecution, fromLogLine, type LogLineAnswer } from '../wire/index.ts';
import { type Message, messagesOf } from './event-stream.ts';
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
  for (let empty = 0; empty < MAX_EMPTY; empty++) {
    try {
      if (empty > 0) await transport.pause(empty - 1, null, signal);
      const answer = await transport.send({
        method: 'GET',
        path: ['v1', 'executions', id, 'events'],
        headers: { accept: 'text/event-stream', 'last-event-id': String(offset) },
        safety: 'always',
        signal,
      });
      for await (const message of messagesOf(answer)) {
        const event = toEvent(message);
        if (event === null) continue;
        empty = 0;
        offset = event.offset;
        // Whoever comes back is told again how it stands.
        if (event.kind === 'log' || event.run.state !== state) yield event;
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

function isBreak(error: unknown): boolean {
  return error instanceof SkillboxError && error.code === 'SERVER_UNREACHABLE';
}

function toEvent({ event, id, data }: Message): RunEvent | null {
  const offset = Number.parseInt(id, 10);
  if (!Number.isSafeInteger(offset)) return null;
  if (event === 'log') return { kind: 'log', line: fromLogLine(JSON.parse(data) as LogLineAnswer), offset };
  if (event === 'state') return { kind: 'state', run: fromExecution(JSON.parse(data) as ExecutionState), offset };
  return null;
}
