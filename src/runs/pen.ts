import type { AuditEvent } from '../audit/index.ts';
import { whileAway } from '../base/index.ts';
import { type Durability, isEnded, type RunRecord, type RunRecords } from '../store/index.ts';

/** So long the store may be away. What a run has done is not to be lost over a database that is started anew. */
const PATIENCE_MS = 60_000;
/** A state that lasts shorter is gone before anybody could read it. */
const SLOW_MS = 50;

/** What was decided about a run, and is not written yet. */
export type Unwritten = { events: readonly AuditEvent[]; durability: Durability };

/**
 * Writes what becomes of one run. What was decided about a run that begins at once is written with its beginning, in one
 * transaction, before its first process; when it does not begin at once, it is written meanwhile.
 */
export class Pen {
  readonly #runs: RunRecords;
  readonly #record: RunRecord;
  #unwritten: Unwritten | null;
  #waiting: NodeJS.Timeout | null = null;
  #meanwhile: Promise<unknown> = Promise.resolve();

  constructor(runs: RunRecords, record: RunRecord, unwritten: Unwritten | null) {
    this.#runs = runs;
    this.#record = record;
    this.#unwritten = unwritten;
    if (unwritten !== null) this.writeIfSlow();
  }

  /** False: somebody else has ended the run, or goes on with it. What cannot be written throws, and nothing is begun. */
  write(events: readonly AuditEvent[], durability?: Durability): Promise<boolean> {
    let isUnsure = false;
    return whileAway(PATIENCE_MS, async () => {
      if (isUnsure && (await this.#isWritten())) {
        this.#unwritten = null;
        return true;
      }
      isUnsure = true;
      return this.#write(events, durability);
    });
  }

  /** As it is now, with its events: only what was tried before can have been. */
  async #isWritten(): Promise<boolean> {
    const { tenant, id, state, attempt } = this.#record;
    const kept = await this.#runs.get(tenant, id);
    return kept !== null && kept.state === state && kept.attempt === attempt;
  }

  async #write(events: readonly AuditEvent[], durability?: Durability): Promise<boolean> {
    await this.rest();
    const run = this.#record;
    if (this.#unwritten === null) return this.#runs.update(run, events, durability);
    const { events: earlier, durability: least } = this.#unwritten;
    const isFull = least === 'full' || (durability ?? (isEnded(run.state) ? 'full' : 'later')) === 'full';
    await this.#runs.insert(run, [...earlier, ...events], isFull ? 'full' : 'later');
    this.#unwritten = null;
    return true;
  }

  /** Writes the record as it is when a moment has passed, so that others see where the run is; `before` runs first. */
  writeIfSlow(before: () => void = () => {}): void {
    this.#waiting = setTimeout(() => {
      this.#waiting = null;
      before();
      this.#meanwhile = this.#writeAsItIs();
      this.#meanwhile.catch(() => undefined); // told to whoever writes next
    }, SLOW_MS);
  }

  /** What is to be written meanwhile has been, or will not be. */
  async rest(): Promise<void> {
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    this.#waiting = null;
    const meanwhile = this.#meanwhile;
    this.#meanwhile = Promise.resolve();
    await meanwhile;
  }

  async #writeAsItIs(): Promise<void> {
    if (this.#unwritten === null) {
      await this.#runs.update(this.#record, []);
      return;
    }
    const { events, durability } = this.#unwritten;
    await this.#runs.insert(this.#record, events, durability);
    this.#unwritten = null;
  }
}
