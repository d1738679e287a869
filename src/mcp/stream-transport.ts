import type { Readable, Writable } from 'node:stream';
import { type JSONRPCErrorResponse, type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { isObject, type JsonValue } from '../base/index.ts';

const LINE_END = 0x0a;
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/**
 * The SDK's transport, with reading of our own: the SDK drops a line that is no message without a word, and whoever sent it
 * waits for ever. JSON-RPC wants it answered.
 */
export class StreamTransport extends StdioServerTransport {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isOver = false;

  /** `onTooLarge` is told of a message of more than `maxBytes`, which is held whole before it is read; that ends it. */
  constructor(input: Readable, output: Writable, maxBytes: number, onTooLarge: () => void) {
    super(input, output);
    this.#maxBytes = maxBytes;
    // What `start` listens with, and `close` takes away again.
    this._ondata = chunk => {
      if (this.#isOver || this.#read(chunk)) return;
      this.#isOver = true;
      this.#parts = [];
      onTooLarge();
      void this.close();
    };
  }

  /** False when a message has become too large. */
  #read(chunk: Buffer): boolean {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, from)) {
      if (!this.#keep(chunk.subarray(from, end))) return false;
      from = end + 1;
      const line = Buffer.concat(this.#parts).toString('utf8');
      this.#parts = [];
      this.#bytes = 0;
      this.#take(line);
    }
    return this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): boolean {
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) return false;
    if (part.length > 0) this.#parts.push(part);
    return true;
  }

  #take(line: string): void {
    // An empty line between two messages says nothing.
    if (line.trim() === '') return;
    const read = readMessage(line);
    if ('message' in read) this.onmessage?.(read.message);
    else if (read.answer !== null) this.send(read.answer).catch(() => undefined); // nobody is there any more
  }
}

type Read = { message: JSONRPCMessage } | { answer: JSONRPCErrorResponse | null };

function readMessage(line: string): Read {
  let value: JsonValue;
  try {
    value = JSON.parse(line) as JsonValue;
  } catch {
    return { answer: refusal(null, PARSE_ERROR, 'Parse error: this line is no JSON.') };
  }
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    const { id, result, error } = isObject(value) ? value : {};
    // An answer is not answered: two programs would go on refusing each other's refusals.
    if (result !== undefined || error !== undefined) return { answer: null };
    const known = typeof id === 'string' || Number.isSafeInteger(id) ? (id as string | number) : null;
    return { answer: refusal(known, INVALID_REQUEST, 'Invalid request: this is no message of JSON-RPC 2.0.') };
  }
}

/** JSON-RPC wants `null` where it is not known what is answered; the SDK's type has no word for it, as it never answers such. */
function refusal(id: string | number | null, code: number, message: string): JSONRPCErrorResponse {
  const answer = { jsonrpc: '2.0', id, error: { code, message } };
  return answer as JSONRPCErrorResponse;
}
