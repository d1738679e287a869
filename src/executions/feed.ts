import type { LogLine, Run, RunEvent } from '../service/index.ts';
import { isEnded, type RunRecord, type Store } from '../store/index.ts';
import { toRun } from './run.ts';

/** Whoever listens is woken at most so often, however much a run prints. */
const TICK_MS = 25;
/** How often a run that goes on elsewhere is looked at: once for all who listen. */
const POLL_MS = 250;
const SLICE_BYTES = 256 * 1024;
/** Listeners are at the end of a log, or on their way there: the last parts serve nearly all of them. */
const KEPT_SLICES = 8;

type Slice = { lines: { line: LogLine; next: number }[]; offset: number };

/**
 * One run for everybody in this process who follows it: its log is read once, whoever is how far, and nothing is kept for a
 * follower but how far that one is.
 */
export class Feed {
  readonly #store: Store;
  readonly #tenant: string | null;
  readonly id: string;
  readonly #states: Run[] = [];
  readonly #slices = new Map<number, Promise<Slice>>();
  readonly #sleepers = new Set<() => void>();
  /** Who wants to know of states alone: a run may print a lot. */
  readonly #waiters = new Set<() => void>();
  /** Counts what there was to see: states and ticks of the log. */
  #changes = 0;
  #tick: NodeJS.Timeout | null = null;
  #poll: NodeJS.Timeout | null = null;
  #isLocal = false;
  /** Forgotten while somebody followed it. */
  #isGone = false;
  users = 0;

  constructor(store: Store, record: RunRecord) {
    this.#store = store;
    this.#tenant = record.tenant;
    this.id = record.id;
    this.#states.push(toRun(record));
  }

  get run(): Run {
    return this.#states.at(-1) as Run; // there is one from the beginning
  }

  get isOver(): boolean {
    return isEnded(this.run.state);
  }

  /** Whoever runs it says so from now on; nobody needs to look. */
  attach(): void {
    this.#isLocal = true;
    this.#stopPolling();
  }

  detach(): void {
    this.#isLocal = false;
    this.listen();
  }

  /** Looks at the run from time to time, unless it is run here or has ended. */
  listen(): void {
    if (this.#isLocal || this.isOver || this.users === 0) return;
    this.#poll ??= setInterval(() => void this.#look(), POLL_MS).unref();
  }

  leave(): void {
    if (this.users === 0) this.#stopPolling();
  }

  state(record: RunRecord): void {
    if (this.isOver || this.run.state === record.state) return;
    this.#states.push(toRun(record));
    if (this.isOver) this.#stopPolling();
    this.#wake();
    for (const wake of this.#waiters) wake();
  }

  printed(): void {
    if (this.#sleepers.size === 0 && this.#slices.size === 0) {
      this.#changes++;
      return;
    }
    if (this.#tick !== null) return;
    this.#tick = setTimeout(() => {
      this.#tick = null;
      this.#wake();
    }, TICK_MS).unref();
  }

  /** Every state from the present one on, and the log from an offset on, until the end. */
  async *follow(from: number, signal: AbortSignal | null): AsyncGenerator<RunEvent> {
    let offset = from;
    let seen = this.#states.length - 1;
    // An offset that is none is refused before anything is told.
    if (from > 0) await this.read(from);
    while (signal?.aborted !== true && !this.#isGone) {
      const changes = this.#changes;
      const known = this.#states.length;
      const isOver = this.isOver;
      // The end is told after the last line.
      for (; seen < (isOver ? known - 1 : known); seen++) yield stateEvent(this.#states[seen], offset);
      for (;;) {
        const slice = await this.read(offset);
        for (const { line, next } of slice.lines) {
          if (isAborted(signal)) return;
          offset = next;
          yield { kind: 'log', line, offset };
        }
        if (slice.offset === offset && slice.lines.length === 0) break;
      }
      if (isOver) {
        yield stateEvent(this.run, offset);
        return;
      }
      if (this.#changes === changes) await sleep(this.#sleepers, signal, null);
    }
  }

  /** When its state is another one, or the signal or the time says so. */
  nextState(signal: AbortSignal | null, ms: number | null): Promise<void> {
    return sleep(this.#waiters, signal, ms);
  }

  /** The part of the log at an offset: read once for all who are there. */
  read(offset: number): Promise<Slice> {
    const kept = this.#slices.get(offset);
    if (kept !== undefined) return kept;
    const slice = readSlice(this.#store, this.id, offset);
    slice.catch(() => this.#slices.delete(offset));
    this.#slices.set(offset, slice);
    const [oldest] = this.#slices.keys();
    if (this.#slices.size > KEPT_SLICES && oldest !== undefined) this.#slices.delete(oldest);
    void slice.then(
      ({ lines }) => {
        // What was empty may be filled by now.
        if (lines.length === 0) this.#slices.delete(offset);
      },
      () => undefined,
    );
    return slice;
  }

  async #look(): Promise<void> {
    try {
      const record = await this.#store.runs.get(this.#tenant, this.id);
      if (record === null) this.#isGone = true;
      if (record === null) return this.#wake();
      if (record.state === this.run.state && (record.state === 'running' || record.state === 'collecting'))
        this.#wake();
      this.state(record);
    } catch {
      // The store does not answer: the next look may find it again.
    }
  }

  #wake(): void {
    this.#changes++;
    for (const wake of this.#sleepers) wake();
  }

  #stopPolling(): void {
    if (this.#poll !== null) clearInterval(this.#poll);
    this.#poll = null;
  }
}

/** Until somebody who knows of the sleepers wakes them, or the signal or the time does. */
function sleep(sleepers: Set<() => void>, signal: AbortSignal | null, ms: number | null): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise(resolve => {
    const wake = () => {
      clearTimeout(timer);
      sleepers.delete(wake);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = ms === null ? undefined : setTimeout(wake, ms);
    sleepers.add(wake);
    signal?.addEventListener('abort', wake, { once: true });
  });
}

function stateEvent(run: Run | undefined, offset: number): RunEvent {
  return { kind: 'state', run: run as Run, offset };
}

/** A function of its own: what a signal says may change while somebody else is at work. */
function isAborted(signal: AbortSignal | null): boolean {
  return signal?.aborted === true;
}

async function readSlice(store: Store, id: string, from: number): Promise<Slice> {
  const { entries, offset } = await store.logs.read(id, from, SLICE_BYTES);
  const lines = entries.map(({ stream, timeMs, bytes, next }) => ({
    line: { stream, timeMs, text: bytes.toString('utf8') },
    next,
  }));
  return { lines, offset };
}

/** The feeds of all runs that are followed or run in this process. */
export class Feeds {
  readonly #store: Store;
  readonly #feeds = new Map<string, Feed>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Close it when done. */
  open(record: RunRecord): Feed {
    const feed = this.#feeds.get(record.id) ?? new Feed(this.#store, record);
    this.#feeds.set(record.id, feed);
    feed.users++;
    feed.listen();
    return feed;
  }

  close(feed: Feed): void {
    feed.users--;
    feed.leave();
    if (feed.users === 0 && this.#feeds.get(feed.id) === feed) this.#feeds.delete(feed.id);
  }

  /** For whoever follows a run that somebody else than its runner has changed. */
  tell(record: RunRecord): void {
    this.#feeds.get(record.id)?.state(record);
  }

  get size(): number {
    return this.#feeds.size;
  }
}
