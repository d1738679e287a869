import { SkillboxError } from '../base/index.ts';
import { bytesOf } from './bytes.ts';

export type Message = { event: string; id: string; data: string };

/** No event of ours comes near it; a server that sends more is none of ours. */
const MAX_EVENT_CHARS = 64 * 1024 ** 2;

/** Server-sent events, as the HTML standard says they are read. What is left when the stream ends was never whole. */
export async function* messagesOf(answer: Response): AsyncGenerator<Message> {
  const message = { event: 'message', data: [] as string[] };
  // The id lasts until another one comes.
  let id = '';
  for await (const line of linesOf(answer)) {
    if (line === '') {
      if (message.data.length > 0) yield { event: message.event, id, data: message.data.join('\n') };
      message.event = 'message';
      message.data = [];
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') message.event = value;
    else if (field === 'data') message.data.push(value);
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
}

async function* linesOf(answer: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of bytesOf(answer)) {
    rest += decoder.decode(bytes, { stream: true });
    if (rest.length > MAX_EVENT_CHARS) throw new SkillboxError('SERVER_UNREACHABLE', 'an event has no end');
    // A carriage return at the very end may be the first half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
