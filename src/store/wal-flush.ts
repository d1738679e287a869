import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { monotonicMs } from '../base/index.ts';

const sync = promisify(fdatasync);
/** So long the main thread may stand still: less than handing the work over and being told of its end takes when it is busy. */
const QUICK_MS = 0.5;

/**
 * Brings what was committed to the disk. SQLite would do it inside the commit, with the whole process waiting, and with the
 * file's times as well, for which ext4 writes its journal. Here only the content is waited for, and one flush serves all who
 * committed before it began; off the main thread, unless the disk was quicker the last time than the way there.
 */
export class WalFlush {
  readonly #path: string;
  readonly #quickMs: number;
  #lastMs = 0;
  #fd: number | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #fault: { cause: unknown } | null = null;

  constructor(database: string, quickMs = QUICK_MS) {
    this.#path = `${database}-wal`;
    this.#quickMs = quickMs;
  }

  /**
   * Why nothing can be promised any more; null as long as all went well. After a flush that failed, the kernel takes what it
   * could not write for written: the next would succeed, behind a gap that ends the log for whoever reads it after a crash.
   */
  get fault(): { cause: unknown } | null {
    return this.#fault;
  }

  /** Resolved when everything that is committed now would survive a crash of the machine. */
  flush(): Promise<void> {
    if (this.#running === null) return this.#start();
    // The one under way may have begun before this commit was written.
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  close(): void {
    // Safe while others have the database open: its locks are on other files, which closing this one does not drop.
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #start(): Promise<void> {
    this.#next = null;
    this.#running = this.#flush().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** The log is one file for as long as anybody has the database open. */
  async #flush(): Promise<void> {
    if (this.#fault !== null) throw this.#fault.cause;
    const begun = monotonicMs();
    try {
      this.#fd ??= openSync(this.#path, 'r');
      if (this.#lastMs < this.#quickMs) fdatasyncSync(this.#fd);
      else await sync(this.#fd);
    } catch (cause) {
      this.#fault = { cause };
      throw cause;
    }
    this.#lastMs = monotonicMs() - begun;
  }
}
