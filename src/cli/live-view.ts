import { visibleLine } from '../base/index.ts';
import type { Io } from './io.ts';

const SHOWN_LINES = 5;
const REFRESH_MS = 100;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** While a run goes on: its state, how long it takes, and the last lines it printed, redrawn in place. */
export class LiveView {
  readonly #io: Io;
  readonly #start = Date.now();
  readonly #timer: NodeJS.Timeout;
  #state = 'preparing';
  #tail = '';
  #isBuild = false;
  #drawn = 0;
  #frame = 0;

  constructor(io: Io) {
    this.#io = io;
    this.#timer = setInterval(() => this.#draw(), REFRESH_MS);
    this.#timer.unref();
  }

  setState(state: string): void {
    if (this.#isBuild) this.#tail = '';
    this.#isBuild = false;
    this.#state = state;
  }

  /** Before the run there is no output: one line of the package manager stands in its place. */
  setBuild(line: string): void {
    this.#isBuild = true;
    this.#state = 'building dependencies …';
    this.#tail = line;
  }

  add(text: string): void {
    this.#tail = (this.#tail + text).slice(-4096);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#erase();
  }

  #draw(): void {
    this.#erase();
    const seconds = ((Date.now() - this.#start) / 1000).toFixed(1);
    const frame = FRAMES[this.#frame++ % FRAMES.length] ?? '';
    const lines = this.#tail
      .split('\n')
      .filter(line => line.trim() !== '')
      .slice(-SHOWN_LINES);
    const shown = [
      `${this.#io.paint('cyan', frame)} ${this.#state} ${seconds}s`,
      ...lines.map(line => `  ${this.#io.paint('dim', visibleLine(line, 100))}`),
    ];
    this.#io.err(`${shown.join('\n')}\n`);
    this.#drawn = shown.length;
  }

  #erase(): void {
    if (this.#drawn > 0) this.#io.err(`\u001b[${this.#drawn}A\u001b[J`);
    this.#drawn = 0;
  }
}
