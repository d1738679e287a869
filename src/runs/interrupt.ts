/** Why a signal was given: nobody canceled the run, but the process that has it is stopped. */
export class Interrupted extends Error {
  constructor() {
    super('the process is being stopped');
  }
}

export function isInterrupted(signal: AbortSignal | null): boolean {
  return signal?.aborted === true && signal.reason instanceof Interrupted;
}
