import type { ServerContext } from '@modelcontextprotocol/server';
import { visibleLine } from '../base/index.ts';

const EVERY_MS = 100;
const MAX_LINES = 20;
const MAX_LINE = 400;

/** What a run prints, line by line, to a client that asked to be told. A flood becomes its last lines, ten times a second. */
export class Progress {
  readonly #ctx: ServerContext;
  readonly #token: string | number | undefined;
  #rest = '';
  #lines: string[] = [];
  #count = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(ctx: ServerContext) {
    this.#ctx = ctx;
    this.#token = ctx.mcpReq._meta?.progressToken;
  }

  get isWanted(): boolean {
    return this.#token !== undefined;
  }

  add(text: string): void {
    if (this.#token === undefined) return;
    const lines = (this.#rest + text).split('\n');
    // A line without an end must not grow without one.
    this.#rest = (lines.pop() ?? '').slice(-MAX_LINE * 4);
    this.#count += lines.length;
    this.#lines = [...this.#lines, ...lines].slice(-MAX_LINES);
    this.#timer ??= setTimeout(() => void this.#send(), EVERY_MS);
  }

  /** Before the result is given: nothing may come after it. */
  async end(): Promise<void> {
    if (this.#rest !== '') {
      this.#lines.push(this.#rest);
      this.#count++;
    }
    await this.#send();
  }

  async #send(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#token === undefined || this.#lines.length === 0) return;
    const message = this.#lines.map(line => visibleLine(line, MAX_LINE)).join('\n');
    this.#lines = [];
    const params = { progressToken: this.#token, progress: this.#count, message };
    // A client that is gone needs no progress.
    await this.#ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  }
}
