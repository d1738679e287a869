import { visibleLine } from '../base/index.ts';
import type { Io } from './io.ts';
import { cutTo, widthOf } from './wrap.ts';

const SHOWN_LINES = 5;
const REFRESH_MS = 100;
const INDENT = 2;
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/** While a run goes on: its state, how long it takes, and the last lines it printed, redrawn in place. */
export class LiveView {
  readonly #io: Io;
  readonly #start = Date.now();
  readonly #timer: NodeJS.Timeout;
  #state = 'preparing';
  #tail = '';
  #isBuild = false;
  /** How wide each line is that stands there. */
  #drawn: number[] = [];
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
    const { columns, rows, paint } = this.#io;
    const width = Math.max(columns - INDENT, 1);
    const state = cutTo(`${this.#state} ${seconds}s`, width);
    // One row is the state's, and one the cursor's: what is scrolled away cannot be erased.
    const room = Math.max(Math.min(SHOWN_LINES, rows - 2), 0);
    const printed = this.#tail.split('\n').filter(line => line.trim() !== '');
    const lines = printed
      .slice(Math.max(printed.length - room, 0))
      .map(line => cutTo(visibleLine(line, columns), width));
    const shown = [`${paint('cyan', frame)} ${state}`, ...lines.map(line => `  ${paint('dim', line)}`)];
    this.#io.err(`${shown.join('\n')}\n`);
    this.#drawn = [state, ...lines].map(line => INDENT + widthOf(line));
  }

  #erase(): void {
    // A terminal that became narrower since has wrapped them.
    const rows = this.#drawn.reduce((sum, width) => sum + Math.ceil(width / this.#io.columns), 0);
    if (rows > 0) this.#io.err(`\u001b[${rows}A\u001b[J`);
    this.#drawn = [];
  }
}
