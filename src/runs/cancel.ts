import type { Store } from '../store/index.ts';

const POLL_MS = 250;

export type Cancel = {
  signal: AbortSignal;
  /** Whether somebody asked for it; a run is also ended for reasons of our own. */
  isAsked: () => boolean;
  now: () => void;
  stop: () => void;
};

/** The caller's own signal, or a request that another process left in the store. */
export function watchCancel(store: Store, id: string, outer: AbortSignal | null): Cancel {
  const controller = new AbortController();
  let asked = false;
  const now = () => controller.abort();
  const ask = () => {
    asked = true;
    now();
  };
  if (outer?.aborted === true) ask();
  outer?.addEventListener('abort', ask, { once: true });
  const look = () => {
    store.runs.isCancelRequested(id).then(
      isRequested => isRequested && ask(),
      () => undefined, // the store is closing; the run ends by itself
    );
  };
  let timer: NodeJS.Timeout | null = null;
  // With the next turn of the loop: the run is to begin first.
  const later = setImmediate(() => {
    timer = setInterval(look, POLL_MS);
    timer.unref();
  });
  return {
    signal: controller.signal,
    isAsked: () => asked,
    now,
    stop: () => {
      clearImmediate(later);
      if (timer !== null) clearInterval(timer);
      outer?.removeEventListener('abort', ask);
    },
  };
}
