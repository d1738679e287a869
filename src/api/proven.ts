import { hash } from 'node:crypto';

const MAX_KEPT = 10_000;
const KEPT_MS = 3_600_000;

/**
 * Tokens that were good within the last hour, by their digest. Threat: whoever shares an address with others, or a proxy that
 * nobody told us of, shuts them out with wrong keys. These are looked at all the same; nobody comes to be among them by trying.
 */
export class Proven {
  readonly #since = new Map<string, number>();

  has(token: string): boolean {
    const since = this.#since.get(digestOf(token));
    return since !== undefined && performance.now() - since < KEPT_MS;
  }

  add(token: string): void {
    const digest = digestOf(token);
    // The last used is the last to go.
    this.#since.delete(digest);
    this.#since.set(digest, performance.now());
    const [oldest] = this.#since.keys();
    if (this.#since.size > MAX_KEPT && oldest !== undefined) this.#since.delete(oldest);
  }

  drop(token: string): void {
    this.#since.delete(digestOf(token));
  }
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64');
}
