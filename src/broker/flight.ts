/** A request under way; it knows its place among the others, and on which connection of the run its answer is owed. */
export type UnderWay = { end(): void; at: number; connection: object };

/** The requests of one run that are under way. */
export class Flight {
  /** How many; a request that is still being read counts too, and a connection that is begun for one that has left. */
  count = 0;
  /** Found by their places: a set took a tenth of a small answer's time. */
  readonly #all: UnderWay[] = [];

  enter(one: UnderWay): void {
    one.at = this.#all.push(one) - 1;
  }

  /** The last takes its place. */
  leave(one: UnderWay): void {
    const last = this.#all.pop();
    if (last === undefined || last === one) return;
    this.#all[one.at] = last;
    last.at = one.at;
  }

  /** The run closed a connection. Node 22 says so of the answer that is on its way, and not of those that wait behind it. */
  endOn(connection: object): void {
    for (const one of this.#all.filter(each => each.connection === connection)) one.end();
  }

  /** Ends all of them, each of which leaves. */
  end(): void {
    for (let last = this.#all.at(-1); last !== undefined; last = this.#all.at(-1)) last.end();
  }
}
