import type { Store } from '../store/index.ts';

const POLL_MS = 250;

export type Cancel = { signal: AbortSignal; now: () => void; stop: () => void };

/** The caller's own signal, or a request that another process left in the store. */
export function watchCancel(store: Store, id: string, outer: AbortSignal | null): Cancel {
  const controller = new AbortController();
  const now = () => controller.abort();
  if (outer?.aborted === true) now();
  outer?.addEventListener('abort', now, { once: true });
  const timer = setInterval(() => {
    store.runs.isCancelRequested(id).then(
      asked => asked && now(),
      () => undefined, // the store is closing; the run ends by itself
    );
  }, POLL_MS);
  timer.unref();
  return {
    signal: controller.signal,
    now,
    stop: () => {
      clearInterval(timer);
      outer?.removeEventListener('abort', now);
    },
  };
}
