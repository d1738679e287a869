/**
 * Milliseconds by a clock that nobody sets. `performance.now` is the same, but with the first call Node loads all that it has to
 * measure with, which takes longer than most of what is measured.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
