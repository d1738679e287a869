import type { ChunkSink } from './scrub.ts';

/**
 * What a run prints, cut between characters and never inside one, so that each piece of a log is text by itself: whoever reads
 * on from the middle of it sees no broken character. What is no UTF-8 passes as it is.
 */
export function wholeCharacters(sink: ChunkSink): { write: ChunkSink; end: () => void } {
  const held = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  return {
    write(stream, chunk) {
      const before = held[stream];
      const all = before.length === 0 ? chunk : Buffer.concat([before, chunk]);
      const cut = all.length - openBytes(all);
      // A copy: whoever gave the chunk may use its memory again.
      held[stream] = Buffer.from(all.subarray(cut));
      if (cut > 0) sink(stream, all.subarray(0, cut));
    },
    end() {
      for (const stream of ['stdout', 'stderr'] as const) {
        const rest = held[stream];
        held[stream] = Buffer.alloc(0);
        if (rest.length > 0) sink(stream, rest);
      }
    },
  };
}

/** How many bytes at the end begin a character that goes on; at most three. */
function openBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue; // inside one: look further back for its beginning
    const length = byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return byte < 0xf8 && length > back ? back : 0;
  }
  return 0;
}
