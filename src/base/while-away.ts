import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from './clock.ts';
import { SkillboxError } from './errors.ts';

const [FIRST_MS, LONGEST_MS] = [50, 1000];

/**
 * Tries again while a back end is away, as a database is that is started anew; after so long its fault is told. What failed may
 * have been carried out all the same, and only the answer was lost: `act` has to bear that.
 */
export async function whileAway<T>(forMs: number, act: () => Promise<T>): Promise<T> {
  const until = monotonicMs() + forMs;
  for (let pause = FIRST_MS; ; pause = Math.min(pause * 2, LONGEST_MS)) {
    try {
      return await act();
    } catch (error) {
      const isAway = error instanceof SkillboxError && error.code === 'BACKEND_UNAVAILABLE';
      if (!isAway || monotonicMs() + pause > until) throw error;
    }
    await sleep(pause);
  }
}
