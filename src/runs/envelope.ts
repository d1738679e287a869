import type { JsonValue } from '../base/index.ts';
import type { Ending } from '../skill/index.ts';
import { parseJson } from './json-output.ts';

/** GB-13: the first and the last 2,048 bytes of the merged output, cut at character borders. */
const HEAD_BYTES = 2048;
const TAIL_BYTES = 2048;
const MAX_TOTAL = HEAD_BYTES + TAIL_BYTES;

/** GB-14 */
export type Envelope = {
  success: boolean;
  exit_code: number | null;
  output: string;
  truncated: boolean;
  duration_ms: number;
  error?: string;
  parsed?: JsonValue;
};

/** Keeps head and tail of a stream of any length in constant memory. */
export class Excerpt {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #bytes = 0;

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const room = MAX_TOTAL - this.#headBytes;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      this.#head.push(Buffer.from(part));
      this.#headBytes += part.length;
    }
    const late = chunk.length > TAIL_BYTES ? chunk.subarray(chunk.length - TAIL_BYTES) : chunk;
    this.#tail = Buffer.concat([this.#tail, late]).subarray(-TAIL_BYTES);
  }

  /** The marker says how much is missing and is not counted itself. */
  render(): { text: string; truncated: boolean } {
    const head = Buffer.concat(this.#head);
    if (this.#bytes <= MAX_TOTAL) return { text: head.toString('utf8'), truncated: false };
    const first = head.subarray(0, endOfCharacter(head, HEAD_BYTES));
    const last = this.#tail.subarray(startOfCharacter(this.#tail));
    const missing = this.#bytes - first.length - last.length;
    return {
      text: `${first.toString('utf8')}\n... [truncated ${missing} bytes] ...\n${last.toString('utf8')}`,
      truncated: true,
    };
  }
}

/** The last border at or before `limit`: a continuation byte is never the first of a character. */
function endOfCharacter(bytes: Buffer, limit: number): number {
  let end = limit;
  while (end > limit - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}

function startOfCharacter(bytes: Buffer): number {
  let start = 0;
  while (start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}

export function makeEnvelope(
  ending: Ending,
  merged: Excerpt,
  stdout: { text: Buffer; truncated: boolean },
  durationMs: number,
): Envelope {
  const { text, truncated } = merged.render();
  const success = ending.kind === 'exited' && ending.code === 0;
  const error = errorOf(ending);
  // What was cut off by a limit is not the whole stdout, even where the beginning of it happens to be JSON.
  const whole = ending.kind === 'exited' && !stdout.truncated;
  const parsed = whole ? parseJson(stdout.text) : null;
  return {
    success,
    exit_code: ending.kind === 'exited' ? ending.code : null,
    output: text,
    truncated,
    duration_ms: Math.round(durationMs),
    ...(error === null ? {} : { error }),
    ...(parsed !== null && 'value' in parsed ? { parsed: parsed.value } : {}),
  };
}

/** GB-16: the errors that a tool's caller can tell apart. */
function errorOf(ending: Ending): string | null {
  switch (ending.kind) {
    case 'exited':
      if (ending.code === 0) return null;
      if (ending.code === 127) return 'Command not found (exit code 127)';
      if (ending.code === 126) return 'Permission denied (exit code 126)';
      return `Command failed with exit code ${ending.code}`;
    case 'signaled':
      return `Command was ended by ${ending.signal}`;
    case 'timeout':
      return 'Timeout exceeded';
    case 'canceled':
      return 'Canceled';
    case 'out-of-memory':
      return 'Memory limit exceeded';
    case 'output-limit':
      return 'Output limit exceeded';
    case 'disk-limit':
      return 'Disk limit exceeded';
    case 'pids-limit':
      return 'Process limit exceeded';
    default:
      return `The run ended as ${ending.kind}`;
  }
}
