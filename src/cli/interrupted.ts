import { SkillboxError } from '../base/index.ts';
import type { Io } from './io.ts';

export function interrupted(hint?: string): SkillboxError {
  return new SkillboxError('CANCELED', 'it was interrupted', hint === undefined ? {} : { hint });
}

/** A server was asked, and what it makes of that nobody here will hear. */
const ASKED = 'What was sent to the server may have been done all the same: look before you do it again.';

/** The same signal, with a reason that a person can be told. */
export function whenInterrupted(interrupt: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort(interrupted(ASKED));
  if (interrupt.aborted) stop();
  else interrupt.addEventListener('abort', stop, { once: true });
  return controller.signal;
}

/** For what a command that goes on when it is interrupted waits for beforehand. */
export async function orInterrupted<T>(waiting: Promise<T>, { interrupt }: Pick<Io, 'interrupt'>): Promise<T> {
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(interrupted(ASKED));
  });
  if (interrupt.aborted) stop();
  else interrupt.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([waiting, stopped]);
  } finally {
    interrupt.removeEventListener('abort', stop);
  }
}
