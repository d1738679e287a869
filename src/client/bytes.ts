import { SkillboxError } from '../base/index.ts';
import type { Bytes } from '../service/index.ts';

/** The body of an answer, as it comes. Whoever stops reading ends the transfer. */
export async function* bytesOf(answer: Response): AsyncGenerator<Uint8Array> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    // Why it was ended, where somebody here has done so.
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('SERVER_UNREACHABLE', 'the transfer broke off', { cause });
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** No answer of ours comes near it. Threat: what has no end would be read until the memory is full. */
const MAX_TEXT_BYTES = 256 * 1024 ** 2;

/** A body that breaks off did so somewhere between here and the server. */
export async function readText(answer: Response, maxBytes = MAX_TEXT_BYTES): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let left = maxBytes;
  for await (const part of bytesOf(answer)) {
    left -= part.length;
    if (left < 0) throw new SkillboxError('SERVER_UNREACHABLE', `the answer has more than ${maxBytes} bytes`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/** What is sent. A browser streams nothing up over HTTP/1.1, so there the bytes are gathered first. */
export async function bodyOf(content: Bytes): Promise<ReadableStream<Uint8Array> | Blob> {
  if ('document' in globalThis || 'WorkerGlobalScope' in globalThis) {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const part of content) parts.push(part as Uint8Array<ArrayBuffer>);
    return new Blob(parts);
  }
  const source = content[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      await source.return?.(reason);
    },
  });
}

/** `"…"`, as our server writes it: the SHA-256 of the bytes. */
export function digestOf(answer: Response): string {
  return /"([0-9a-f]{64})"/.exec(answer.headers.get('etag') ?? '')?.[1] ?? '';
}

export function lengthOf(answer: Response): number {
  return Number(answer.headers.get('content-length') ?? 0);
}
