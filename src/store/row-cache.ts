import type { Database } from './database.ts';

const MAX_KEPT = 1000;

/**
 * Rows as they were read last, for as long as nobody has written to the database. SQLite counts the writes of others; it is
 * asked once for all that this process does without a pause, because to ask takes a lock on the file. Our own writes to these
 * rows say so with `clear`.
 */
export class RowCache<T> {
  readonly #database: Database;
  readonly #kept = new Map<string, T>();
  #version = -1;
  #asked = false;

  constructor(database: Database) {
    this.#database = database;
  }

  get(key: readonly string[], read: () => T): T {
    if (!this.#asked) this.#ask();
    if (this.#kept.size >= MAX_KEPT) this.clear();
    const name = JSON.stringify(key);
    let value = this.#kept.get(name);
    if (value === undefined) {
      value = read();
      this.#kept.set(name, value);
    }
    return value;
  }

  clear(): void {
    this.#kept.clear();
  }

  #ask(): void {
    const version = Number(this.#database.prepare('PRAGMA data_version').get()?.data_version);
    if (version !== this.#version) this.clear();
    this.#version = version;
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
    });
  }
}
