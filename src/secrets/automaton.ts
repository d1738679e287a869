/**
 * Finds many byte strings in one pass (Aho and Corasick): whatever is looked for and whatever is read, the work is linear in
 * what is read. Most states are in long chains: so the children of a state are a linked list. Only the root has a table, and so
 * have those near it, where the lines of a secret with many lines part.
 */
const TABLED_DEPTH = 2;
/** Each takes 1 KiB. */
const MAX_TABLES = 4096;
const BYTES = 256;

export class Automaton {
  /** By the byte that leads from the root; 0 is the root itself. */
  readonly root = new Int32Array(256);
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #byte: Uint8Array;
  readonly #fail: Int32Array;
  /** How many bytes lead from the root to the state: that many of what was read may be the beginning of a word. */
  readonly depth: Int32Array;
  /** The length of the longest word that ends in the state, or 0; and which owner it has. */
  readonly length: Int32Array;
  readonly owner: Int32Array;
  #count = 1;
  /** By state, which of the tables it has, counted from 1; 0: none. A table has the state after each byte. */
  readonly #tableOf: Uint16Array;
  readonly #tables: Int32Array;

  constructor(words: readonly { bytes: Buffer; owner: number }[]) {
    const most = 1 + words.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#child = new Int32Array(most);
    this.#sibling = new Int32Array(most);
    this.#byte = new Uint8Array(most);
    this.#fail = new Int32Array(most);
    this.depth = new Int32Array(most);
    this.length = new Int32Array(most);
    this.owner = new Int32Array(most);
    for (const { bytes, owner } of words) this.#add(bytes, owner);
    const near = this.depth.subarray(1, this.#count).reduce((sum, depth) => sum + (depth <= TABLED_DEPTH ? 1 : 0), 0);
    this.#tableOf = new Uint16Array(this.#count);
    this.#tables = new Int32Array(Math.min(near, MAX_TABLES) * BYTES);
    this.#link();
  }

  /** The state after one more byte. */
  step(from: number, byte: number): number {
    for (let state = from; state !== 0; state = this.#fail[state] ?? 0) {
      const table = this.#tableOf[state] ?? 0;
      if (table !== 0) return this.#tables[(table - 1) * BYTES + byte] ?? 0;
      const next = this.#childOf(state, byte);
      if (next !== 0) return next;
    }
    return this.root[byte] ?? 0;
  }

  #childOf(state: number, byte: number): number {
    if (state === 0) return this.root[byte] ?? 0;
    let child = this.#child[state] ?? 0;
    while (child !== 0 && this.#byte[child] !== byte) child = this.#sibling[child] ?? 0;
    return child;
  }

  #add(bytes: Buffer, owner: number): void {
    let state = 0;
    for (const byte of bytes) {
      const there = this.#childOf(state, byte);
      state = there === 0 ? this.#grow(state, byte) : there;
    }
    if (this.length[state] === 0) this.owner[state] = owner;
    this.length[state] = bytes.length;
  }

  #grow(from: number, byte: number): number {
    const state = this.#count++;
    this.#byte[state] = byte;
    this.depth[state] = (this.depth[from] ?? 0) + 1;
    if (from === 0) this.root[byte] = state;
    this.#sibling[state] = this.#child[from] ?? 0;
    this.#child[from] = state;
    return state;
  }

  /** Level by level: where to go on when the next byte does not fit, and which word ends on that way. */
  #link(): void {
    const queue = new Int32Array(this.#count);
    let filled = 0;
    for (let child = this.#child[0] ?? 0; child !== 0; child = this.#sibling[child] ?? 0) queue[filled++] = child;
    for (let at = 0; at < filled; at++) {
      const state = queue[at] ?? 0;
      const back = this.#fail[state] ?? 0;
      if (this.length[state] === 0) {
        this.length[state] = this.length[back] ?? 0;
        this.owner[state] = this.owner[back] ?? 0;
      }
      if (at < MAX_TABLES && (this.depth[state] ?? 0) <= TABLED_DEPTH) this.#tabulate(state, back, at + 1);
      for (let child = this.#child[state] ?? 0; child !== 0; child = this.#sibling[child] ?? 0) {
        this.#fail[child] = this.step(back, this.#byte[child] ?? 0);
        queue[filled++] = child;
      }
    }
  }

  /** What the state before it would do, which has a table already, but for its own children. */
  #tabulate(state: number, back: number, table: number): void {
    const from = ((this.#tableOf[back] ?? 0) - 1) * BYTES;
    const row = this.#tables.subarray((table - 1) * BYTES, table * BYTES);
    row.set(back === 0 ? this.root : this.#tables.subarray(from, from + BYTES));
    for (let child = this.#child[state] ?? 0; child !== 0; child = this.#sibling[child] ?? 0)
      row[this.#byte[child] ?? 0] = child;
    this.#tableOf[state] = table;
  }
}
