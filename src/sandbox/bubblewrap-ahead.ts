import type { Spare } from './bubblewrap-warm.ts';
import { recallShape, rememberShape } from './foresight.ts';
import type { Shape } from './warm-shape.ts';

/** A whole sandbox for the one run that is expected, begun before it is known, as the last run of its name was. */
export type Ahead = {
  /** From now on a run of this name is expected. False: nothing is begun, since nobody knows what such a run is like. */
  begin(name: string, told: () => void): boolean;
  isExpecting(): boolean;
  /** Where the socket to the network will be in what was begun; null: it will have none. */
  wayOut(): string | null;
  /** By the first run: the sandbox where it fits exactly, and null otherwise. What the run is like is what the next is begun as. */
  take(shape: Shape | null): Promise<Spare | null>;
  close(): Promise<void>;
};

type Begun = { shape: Shape; spare: Promise<Spare>; giveUp: AbortController };
type Start = (shape: Shape, told: () => void, signal: AbortSignal) => Promise<Spare>;

export function createAhead(stateDir: string, start: Start): Ahead {
  let expected: { name: string; begun: Begun | null } | null = null;
  /** Nobody but `close` waits for it. */
  const leaving: Promise<unknown>[] = [];
  const giveUp = ({ spare, giveUp: controller }: Begun) => {
    controller.abort();
    const disposed = spare.then(made => made.dispose());
    leaving.push(disposed.catch(() => undefined)); // it was ended as it started, or a sweep finds what is left
  };
  return {
    begin(name, told) {
      const shape = recallShape(stateDir, name);
      expected = { name, begun: null };
      if (shape === null) return false;
      const controller = new AbortController();
      const spare = start(shape, told, controller.signal);
      spare.catch(() => told()); // the run goes the usual way, and tells what is wrong
      expected.begun = { shape, spare, giveUp: controller };
      return true;
    },
    isExpecting: () => expected !== null,
    wayOut: () => expected?.begun?.shape.bridge?.at ?? null,
    async take(shape) {
      if (expected === null) return null;
      const { name, begun } = expected;
      expected = null;
      const remember = (known: Shape | null) => {
        leaving.push(rememberShape(stateDir, name, known).catch(() => undefined)); // the next one is a little slower
      };
      // All of it, not the key alone: the sandbox was made of what was kept, and that is only a file.
      if (begun === null || JSON.stringify(begun.shape) !== JSON.stringify(shape)) {
        remember(shape);
        if (begun !== null) giveUp(begun);
        return null;
      }
      const spare = await begun.spare.catch(() => null);
      if (spare?.alive() === true) return spare;
      remember(null); // one that does not come up, or dies, would do so every time
      if (spare !== null) giveUp(begun);
      return null;
    },
    async close() {
      if (expected?.begun != null) giveUp(expected.begun);
      expected = null;
      await Promise.all(leaving.splice(0));
    },
  };
}
