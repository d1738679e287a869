import { SkillboxError } from '../base/index.ts';
import { bytesOf } from './bytes.ts';

export type Message = { event: string; id: string; data: string };

/** No event of ours comes near it; a server that sends more is none of ours. */
const MAX_EVENT_CHARS = 64 * 1024 ** 2;
/** What a line takes beside its text, so that many short ones count too. */
const LINE_CHARS = 32;

/** Server-sent events, as the HTML standard says they are read. What is left when the stream ends was never whole. */
export async function* messagesOf(answer: Response): AsyncGenerator<Message> {
  const message = { event: 'message', data: [] as string[] };
  // The id lasts until another one comes.
  let id = '';
  let length = 0;
  for await (const line of linesOf(answer)) {
    if (line === '') {
      if (message.data.length > 0) yield { event: message.event, id, data: message.data.join('\n') };
      message.event = 'message';
      message.data = [];
      length = 0;
      continue;
    }
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') message.event = value;
    else if (field === 'data') {
      message.data.push(value);
      length += value.length + LINE_CHARS;
      if (length > MAX_EVENT_CHARS) throw endless();
    } else if (field === 'id' && !value.includes('\0')) id = value;
  }
}

/** What has come of a line is kept in pieces: joined with each that follows, a long one would be gone through again and again. */
async function* linesOf(answer: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  // A carriage return at the very end may be the first half of a line break.
  let held = '';
  for await (const bytes of bytesOf(answer)) {
    const text = held + decoder.decode(bytes, { stream: true });
    held = text.endsWith('\r') ? '\r' : '';
    const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      yield pieces.length === 0 ? line : pieces.join('') + line;
      pieces = [];
      length = 0;
    }
    pieces.push(rest);
    length += rest.length;
    if (length > MAX_EVENT_CHARS) throw endless();
  }
}

function endless(): SkillboxError {
  return new SkillboxError('SERVER_UNREACHABLE', 'an event has no end');
}
