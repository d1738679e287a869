import { renderSize, SkillboxError } from '../base/index.ts';

export type RoomParts = {
  mostOf(tenant: string): Promise<number>;
  usedBy(tenant: string): Promise<number>;
};

const MAX_TRIES = 8;

/** Ends a hold: what was kept meanwhile counts on until it is counted anew. */
export type EndHold = (isKept: boolean) => void;

/**
 * What tenants may still keep. Threat: many requests at once that each find the same room. So what is on its way in is held
 * already. Another process may hold as much; the next count sees both.
 */
export class Room {
  readonly #parts: RoomParts;
  readonly #counted = new Map<string, { at: number; used: number }>();
  readonly #held = new Map<string, number>();
  /** How many holds have ended with something kept. */
  #ended = 0;

  constructor(parts: RoomParts) {
    this.#parts = parts;
  }

  /** `maxAgeMs`: how old a count may be; counting reads all that there is. */
  async hold(tenant: string, bytes: number, maxAgeMs: number): Promise<EndHold> {
    const [most] = await Promise.all([this.#parts.mostOf(tenant), this.#count(tenant, maxAgeMs)]);
    // From here to the end of the hold nobody else is asked.
    const left = most - (this.#counted.get(tenant)?.used ?? 0) - this.#heldBy(tenant);
    if (bytes > left || left <= 0)
      throw new SkillboxError(
        'QUOTA_EXCEEDED',
        `this is ${renderSize(bytes)}, and there is room for ${renderSize(Math.max(0, left))}`,
      );
    this.#held.set(tenant, this.#heldBy(tenant) + bytes);
    return isKept => this.#end(tenant, bytes, isKept);
  }

  #end(tenant: string, bytes: number, isKept: boolean): void {
    const held = this.#heldBy(tenant) - bytes;
    if (held > 0) this.#held.set(tenant, held);
    else this.#held.delete(tenant);
    if (!isKept) return;
    this.#ended++;
    const counted = this.#counted.get(tenant);
    if (counted !== undefined) counted.used += bytes;
  }

  #heldBy(tenant: string): number {
    return this.#held.get(tenant) ?? 0;
  }

  async #count(tenant: string, maxAgeMs: number): Promise<void> {
    const known = this.#counted.get(tenant);
    if (known !== undefined && Date.now() - known.at < maxAgeMs) return;
    for (let tries = 0; ; tries++) {
      const [at, ended] = [Date.now(), this.#ended];
      const used = await this.#parts.usedBy(tenant);
      // What was kept while it was counted may be missing from the count.
      if (ended !== this.#ended && tries < MAX_TRIES) continue;
      this.#counted.set(tenant, { at, used });
      return;
    }
  }
}
