import { unfinishedBytes } from '../base/index.ts';
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
      const cut = all.length - unfinishedBytes(all);
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
