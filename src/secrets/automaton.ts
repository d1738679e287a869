/**
 * Finds many byte strings in one pass (Aho and Corasick): whatever is looked for and whatever is read, the work is linear in
 * what is read. States are few and long chains, because the words are a handful of long ones: so the children of a state are
 * a linked list, and only the root has a table.
 */
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
    this.#link();
  }

  /** The state after one more byte. */
  step(from: number, byte: number): number {
    for (let state = from; state !== 0; state = this.#fail[state] ?? 0) {
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
      for (let child = this.#child[state] ?? 0; child !== 0; child = this.#sibling[child] ?? 0) {
        this.#fail[child] = this.step(back, this.#byte[child] ?? 0);
        queue[filled++] = child;
      }
    }
  }
}
