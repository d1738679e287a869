/**
 * Whether this process may take others for dead. Threat: when the database was away nobody could give a sign of life; whoever
 * finds it again first would end the runs of all others, which go on.
 */
export class Pulse {
  readonly #deadAfterMs: number;
  readonly #lateMs: number;
  #last: number | null = null;
  /** Since when the signs of this process have come without a gap. */
  #steadySince = Number.NEGATIVE_INFINITY;

  constructor({ deadAfterMs, heartbeatMs }: { deadAfterMs: number; heartbeatMs: number }) {
    this.#deadAfterMs = deadAfterMs;
    // Where our own signs did not come for so long, those of others may not have either.
    this.#lateMs = Math.max(deadAfterMs / 2, 2 * heartbeatMs);
  }

  /** A sign of life was written. */
  beaten(now: number): void {
    if (this.#isLate(now)) this.#steadySince = now;
    this.#last = now;
  }

  /** How long others may be silent before they are taken for dead, as of now. */
  deadAfterMs(now: number): number {
    const isSteady = !this.#isLate(now) && now - this.#steadySince >= this.#deadAfterMs;
    return isSteady ? this.#deadAfterMs : Number.POSITIVE_INFINITY;
  }

  #isLate(now: number): boolean {
    return this.#last !== null && now - this.#last > this.#lateMs;
  }
}
