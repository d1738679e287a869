import type { Redactor } from '../secrets/index.ts';
import type { RunRecord } from '../store/index.ts';

export type ChunkSink = (stream: 'stdout' | 'stderr', chunk: Buffer) => void;

/**
 * SK-10: what a run prints, without the secrets that it was lent, before anybody keeps or shows it. Each stream by itself: a
 * value may be split over chunks, but not over streams. Without secrets the chunks pass untouched.
 */
export function scrubChunks(redact: Redactor | null, sink: ChunkSink): { write: ChunkSink; end: () => void } {
  if (redact === null) return { write: sink, end: () => undefined };
  const streams = { stdout: redact.stream(), stderr: redact.stream() };
  const pass: ChunkSink = (stream, chunk) => {
    if (chunk.length > 0) sink(stream, chunk);
  };
  return {
    write: (stream, chunk) => pass(stream, streams[stream].write(chunk)),
    end: () => {
      for (const stream of ['stdout', 'stderr'] as const) pass(stream, streams[stream].flush());
    },
  };
}

/** Everything in the record that the run had a say in, before it is stored, told or shown. */
export function scrubRecord(redact: Redactor | null, record: RunRecord): void {
  if (redact === null) return;
  record.output = redact.json(record.output);
  record.warnings = record.warnings.map(warning => redact.text(warning));
  if (record.error !== null) record.error = { ...record.error, message: redact.text(record.error.message) };
}

/** SK-10: names of artifacts. Two that differed only in a secret are still two. */
export function scrubNames(redact: Redactor | null): (path: string) => string {
  if (redact === null) return path => path;
  const taken = new Set<string>();
  return path => {
    const clean = redact.name(path);
    let free = clean;
    for (let count = 2; taken.has(free); count++) free = `${clean}-${count}`;
    taken.add(free);
    return free;
  };
}
