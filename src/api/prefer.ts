export type WaitPreference = { ms: number; applied: string | null };

/** RFC 7240: whether the caller wants to wait for the end, and how long. What is not understood is no fault. */
export function waitPreference(prefer: string | undefined, mostMs: number): WaitPreference {
  const wishes = (prefer ?? '').split(',').map(wish => wish.trim().toLowerCase());
  if (wishes.some(wish => wish.split(';')[0]?.trim() === 'respond-async')) return { ms: 0, applied: 'respond-async' };
  for (const wish of wishes) {
    const seconds = /^wait\s*=\s*"?(\d{1,9})"?$/.exec(wish)?.[1];
    if (seconds !== undefined) return { ms: Math.min(Number(seconds) * 1000, mostMs), applied: `wait=${seconds}` };
  }
  return { ms: mostMs, applied: null };
}
