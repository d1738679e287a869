import { SkillboxError } from '../base/index.ts';

/** So many at once; the next is refused rather than kept waiting without a word. */
export class Limiter {
  readonly #max: number;
  #going = 0;
  #whenIdle: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  async within<T>(body: () => Promise<T>): Promise<T> {
    if (this.#going >= this.#max) throw new SkillboxError('BUSY', `${this.#going} calls are going on already`);
    this.#going++;
    try {
      return await body();
    } finally {
      this.#going--;
      if (this.#going === 0) for (const tell of this.#whenIdle.splice(0)) tell();
    }
  }

  /** When nothing is going on. */
  idle(): Promise<void> {
    return this.#going === 0 ? Promise.resolve() : new Promise(resolve => this.#whenIdle.push(resolve));
  }
}
