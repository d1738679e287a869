import { type Readable, Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Placeholders, writingOf } from './placeholder.ts';

/** A body is held in memory up to this, where a secret is to be put in and the length would change. */
const MAX_HELD_BYTES = 1024 ** 2;

export class TooLarge extends Error {}

export type Prepared = { body: Readable | Buffer /** Null: chunked. */; length: number | null };

/** What goes on to the host: counted, and with placeholders replaced. `count` says why no more of it may. */
export async function prepareBody(
  { body, length, rawHeaders }: { body: Readable; length: number | null; rawHeaders: readonly string[] },
  placeholders: Placeholders,
  count: (bytes: number) => string | null,
): Promise<Prepared> {
  const counted = heard(body.pipe(counter(count)));
  body.once('error', error => counted.destroy(error));
  body.once('close', () => void (body.readableEnded || counted.destroy()));
  if (placeholders.isEmpty) return { body: counted, length };
  const writing = writingOf(headerIn(rawHeaders, 'content-type'));
  const keepsLength = placeholders.keepsLength(writing);
  if (length === null || keepsLength || length > MAX_HELD_BYTES) {
    const replaced = heard(counted.pipe(placeholders.stream(writing)));
    counted.once('error', error => replaced.destroy(error));
    counted.once('close', () => void (counted.readableEnded || replaced.destroy()));
    return { body: replaced, length: keepsLength ? length : null };
  }
  const whole = placeholders.inBody(await buffer(counted), writing);
  return { body: whole, length: whole.length };
}

function counter(count: (bytes: number) => string | null): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      const fault = count(chunk.length);
      if (fault === null) done(null, chunk);
      else done(new TooLarge(fault));
    },
  });
}

/** Threat: one that breaks before anybody listens, or when nobody does any more, would end the process. `errored` still tells. */
function heard(stream: Transform): Transform {
  return stream.on('error', () => undefined);
}

/** The first of that name. */
export function headerIn(raw: readonly string[], name: string): string | undefined {
  const at = raw.findIndex((word, index) => index % 2 === 0 && word.toLowerCase() === name);
  return at === -1 ? undefined : raw[at + 1];
}
