import type { BrokerEvent } from './brief.ts';

/** Events wait this long for company: a run that asks a thousand times a second must not make as many lines one by one. */
const TOGETHER_MS = 20;

/** Tells the runtime what happened, in order, several lines at a time. */
export class Teller {
  readonly #write: (text: string) => void;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  tell(event: BrokerEvent): void {
    this.#waiting.push(`${JSON.stringify(event)}\n`);
    // What is handed out is told before it is.
    if (event.event === 'released' || event.event === 'ready') this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), TOGETHER_MS);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#waiting.length > 0) this.#write(this.#waiting.splice(0).join(''));
  }
}
