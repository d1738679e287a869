/** How many more may come at once, and how fast new ones are allowed. */
type Bucket = { tokens: number; at: number };

/**
 * Buckets by name: each begins full, holds `burst` tokens and is filled up in a minute per `perMinute` of them. There are at
 * most `maxNames` of them, so that names that a caller can choose, such as addresses, fill no memory; the one longest unused
 * goes first, and it is the one that is full again soonest.
 */
export class Buckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #maxNames: number;

  constructor(maxNames: number) {
    this.#maxNames = maxNames;
  }

  /** 0 when one was there and is taken; otherwise for how many seconds there will be none. Times are of a clock that only goes forward. */
  take(name: string, perMinute: number, burst: number, nowMs: number): number {
    const tokens = this.#tokens(name, perMinute, burst, nowMs);
    const seconds = secondsUntilOne(tokens, perMinute);
    this.#keep(name, { tokens: seconds === 0 ? tokens - 1 : tokens, at: nowMs });
    return seconds;
  }

  /** The same without taking any. */
  look(name: string, perMinute: number, burst: number, nowMs: number): number {
    return secondsUntilOne(this.#tokens(name, perMinute, burst, nowMs), perMinute);
  }

  get size(): number {
    return this.#buckets.size;
  }

  #tokens(name: string, perMinute: number, burst: number, nowMs: number): number {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.at) * perMinute) / 60_000);
  }

  #keep(name: string, bucket: Bucket): void {
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size <= this.#maxNames) return;
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

const MAX_WAIT_SECONDS = 3600;
/** Parts of a token are no exact numbers. */
const TINY = 1e-6;

function secondsUntilOne(tokens: number, perMinute: number): number {
  if (tokens >= 1 - TINY) return 0;
  const seconds = perMinute > 0 ? Math.ceil(((1 - tokens) * 60) / perMinute - TINY) : MAX_WAIT_SECONDS;
  return Math.max(1, Math.min(seconds, MAX_WAIT_SECONDS));
}
