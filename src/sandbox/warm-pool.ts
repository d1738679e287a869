/** How much is held ready. Every number is a bound: memory is `inAll` sandboxes at most. */
export type WarmOptions = {
  /** Spares in all; 0 switches the pool off. */
  inAll: number;
  perKey: number;
  /** No run for this long is idle: only then is anything started ahead, because it takes the processor from runs. */
  idleMs: number;
  /** A key nobody asked for in this time gives its spares up. */
  keepMs: number;
  /** A run from the pool is cleaned up while its result is already used; `close` waits for that. */
  cleanLater: boolean;
};

/** The number that operators give. */
export function warmOptions(inAll: number): WarmOptions {
  return { inAll, perKey: Math.max(1, Math.ceil(inAll / 2)), idleMs: 25, keepMs: 600_000, cleanLater: true };
}

export type Pooled = { alive(): boolean; gone: Promise<void>; dispose(): Promise<void> };
export type Keyed = { key: string; label: string };

export type WarmKey = { label: string; ready: number; hits: number; misses: number; died: number };
export type WarmReport = { inAll: number; perKey: number; ready: number; starting: number; keys: WarmKey[] };

export type WarmPool<S extends Keyed, T extends Pooled> = {
  /** A spare, which is then the caller's and never comes back; null is the cold path. Either way it is a sign of demand. */
  take(shape: S): T | null;
  /** Several runs at once and nothing left: until that is over nothing is made ready, and nobody need ask what would fit. */
  isSpent(): boolean;
  /** One spare at least, now: for a run that is known to come. */
  ensure(shape: S): Promise<void>;
  /** A run begins; call what is returned when it has ended. */
  busy(): () => void;
  report(): WarmReport;
  /** Disposes of what was taken, now or, where the options say so, meanwhile. */
  release(spare: T): Promise<void>;
  /** Gives up every spare: what they were made from may have changed. */
  drain(): Promise<void>;
  close(): Promise<void>;
};

/** Past this a key is forgotten, spares and all: the list of keys is bounded too. */
const MAX_KEYS = 64;
/** A spare that dies is replaced, but not for ever. */
const MAX_DEATHS = 3;

type Known<S, T> = {
  shape: S;
  spares: T[];
  usedAt: number;
  hits: number;
  misses: number;
  died: number;
  failures: number;
};

/** One-shot spares by key, in the order of last use: started when idle, handed out once, given up when others are wanted. */
export function createWarmPool<S extends Keyed, T extends Pooled>(
  options: WarmOptions,
  start: (shape: S) => Promise<T>,
): WarmPool<S, T> {
  /** A Map keeps its order: the last is the one used last. */
  const keys = new Map<string, Known<S, T>>();
  const leaving = new Set<Promise<void>>();
  let running = 0;
  let starting: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  const giveUp = (spare: T) => {
    const left = spare.dispose().catch(() => undefined); // a sweep finds what could not be removed
    leaving.add(left);
    void left.then(() => leaving.delete(left));
  };
  const forget = (key: string) => {
    for (const spare of keys.get(key)?.spares.splice(0) ?? []) giveUp(spare);
    keys.delete(key);
  };
  const count = () => [...keys.values()].reduce((sum, { spares }) => sum + spares.length, 0);

  /** The most wanted key that lacks a spare and has room; a first one for it may take the place of an older key's. */
  const next = (): Known<S, T> | null => {
    const known = [...keys.values()].reverse();
    for (let level = 0; level < options.perKey; level++)
      for (const [index, found] of known.entries()) {
        if (found.spares.length > level || found.failures >= MAX_DEATHS) continue;
        if (count() < options.inAll) return found;
        const older = known
          .slice(index + 1)
          .reverse()
          .find(({ spares }) => spares.length > 0);
        const spare = level === 0 ? older?.spares.pop() : undefined;
        if (spare === undefined) continue;
        giveUp(spare);
        return found;
      }
    return null;
  };

  const add = async (found: Known<S, T>): Promise<void> => {
    let spare: T;
    try {
      spare = await start(found.shape);
    } catch {
      found.failures++; // the run itself will tell why, on the cold path
      return;
    }
    if (closed || keys.get(found.shape.key) !== found) return giveUp(spare);
    found.spares.push(spare);
    void spare.gone.then(() => {
      const at = found.spares.indexOf(spare);
      if (at < 0) return; // taken, or given up
      found.spares.splice(at, 1);
      found.died++;
      found.failures++;
      giveUp(spare);
      refillLater();
    });
  };

  const refill = async (): Promise<void> => {
    for (let found = next(); found !== null && running === 0 && !closed; found = next()) await add(found);
  };
  const refillLater = () => {
    if (timer !== null) clearTimeout(timer);
    if (closed || running > 0) return;
    timer = setTimeout(() => {
      timer = null;
      if (running > 0 || starting !== null) return;
      starting = refill().finally(() => {
        starting = null;
      });
    }, options.idleMs);
    timer.unref();
  };
  const expiry = setInterval(
    () => {
      for (const [key, { usedAt }] of keys) if (performance.now() - usedAt > options.keepMs) forget(key);
    },
    Math.max(1000, options.keepMs / 4),
  );
  expiry.unref();

  const drain = async () => {
    for (const key of keys.keys()) forget(key);
    await starting;
    await Promise.all(leaving);
  };

  /** The key's place is now the last. */
  const touch = (shape: S): Known<S, T> => {
    const found = keys.get(shape.key) ?? { shape, spares: [], usedAt: 0, hits: 0, misses: 0, died: 0, failures: 0 };
    keys.delete(shape.key);
    keys.set(shape.key, found);
    found.usedAt = performance.now();
    const [oldest] = keys.keys();
    if (keys.size > MAX_KEYS && oldest !== undefined) forget(oldest);
    return found;
  };

  return {
    isSpent: () => running > 1 && keys.size > 0 && count() === 0,
    async ensure(shape) {
      const found = touch(shape);
      if (closed || options.inAll === 0 || found.spares.length > 0) return;
      const oldest = [...keys.values()].find(({ spares }) => spares.length > 0);
      const spare = count() < options.inAll ? undefined : oldest?.spares.shift();
      if (spare !== undefined) giveUp(spare);
      await add(found);
    },
    take(shape) {
      const found = touch(shape);
      for (let spare = found.spares.shift(); spare !== undefined; spare = found.spares.shift()) {
        if (!spare.alive()) {
          giveUp(spare);
          continue;
        }
        found.hits++;
        found.failures = 0;
        return spare;
      }
      found.misses++;
      return null;
    },
    async release(spare) {
      if (!options.cleanLater || closed) return spare.dispose();
      // Not at once: whoever waits for the result is served first.
      const { promise, resolve } = Promise.withResolvers<void>();
      setTimeout(resolve, options.idleMs / 2);
      giveUp({ ...spare, dispose: () => promise.then(() => spare.dispose()) });
    },
    busy() {
      running++;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        running--;
        refillLater();
      };
    },
    report() {
      const list = [...keys.values()].map(({ shape, spares, hits, misses, died }) => ({
        label: shape.label,
        ready: spares.length,
        hits,
        misses,
        died,
      }));
      return {
        inAll: options.inAll,
        perKey: options.perKey,
        ready: count(),
        starting: starting === null ? 0 : 1,
        keys: list,
      };
    },
    drain,
    async close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      clearInterval(expiry);
      await drain();
    },
  };
}
