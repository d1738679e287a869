import type { Brief, EndpointLimits } from './brief.ts';

type Count = { requests: number; bytes: number; tokens: number };

/** What each capability has used in this run. The limits are the run's: a new connection does not start them anew. */
export class Meter {
  readonly #limits: ReadonlyMap<string, EndpointLimits>;
  readonly #counts = new Map<string, Count>();

  constructor({ endpoints }: Brief) {
    this.#limits = new Map(endpoints.map(({ capability, limits }) => [capability, limits]));
  }

  /** Counts a request; answers which limit forbids it, or null. */
  begin(capability: string): string | null {
    const count = this.#of(capability);
    const over = this.#over(capability, count) ?? null;
    if (over !== null) return over;
    const most = this.#limits.get(capability)?.requests ?? null;
    if (most !== null && count.requests >= most) return `${most} requests`;
    count.requests++;
    return null;
  }

  carry(capability: string, bytes: number): void {
    this.#of(capability).bytes += bytes;
  }

  /** Which limit is passed with so many bytes more, or null. */
  overBy(capability: string, more: number): string | null {
    const most = this.#limits.get(capability)?.bytes ?? null;
    return most === null || this.#of(capability).bytes + more <= most ? null : `${most} bytes`;
  }

  spend(capability: string, tokens: number): void {
    this.#of(capability).tokens += tokens;
  }

  #over(capability: string, count: Count): string | null {
    const limits = this.#limits.get(capability);
    if (limits === undefined) return null;
    if (limits.bytes !== null && count.bytes >= limits.bytes) return `${limits.bytes} bytes`;
    if (limits.tokens !== null && count.tokens >= limits.tokens) return `${limits.tokens} tokens`;
    return null;
  }

  #of(capability: string): Count {
    let count = this.#counts.get(capability);
    if (count === undefined) {
      count = { requests: 0, bytes: 0, tokens: 0 };
      this.#counts.set(capability, count);
    }
    return count;
  }
}
