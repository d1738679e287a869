import type { Automaton } from './automaton.ts';

/** `end` is behind the last byte. */
export type Found = (start: number, end: number, owner: number) => void;

/** Walks an automaton over bytes that come in pieces. */
export type Scanner = {
  /** Goes on at `from`; what stands before it was seen. Positions count from the beginning of `bytes`. */
  scan(bytes: Buffer, from: number, found: Found): void;
  /** How many of the last bytes may be the beginning of a word. */
  readonly pending: number;
  reset(): void;
};

export function plainScanner(automaton: Automaton): Scanner {
  const { root, depth, length, owner } = automaton;
  let state = 0;
  return {
    scan(bytes, from, found) {
      const end = bytes.length;
      for (let at = from; at < end; at++) {
        if (state === 0) {
          while (at < end && root[bytes[at] ?? 0] === 0) at++;
          if (at === end) break;
        }
        state = automaton.step(state, bytes[at] ?? 0);
        const match = length[state] ?? 0;
        if (match !== 0) found(at + 1 - match, at + 1, owner[state] ?? 0);
      }
    },
    get pending() {
      return depth[state] ?? 0;
    },
    reset() {
      state = 0;
    },
  };
}

const LF = 10;
const CR = 13;
/** More line ends in a row than a wrapped text has; it bounds what is held. */
const MAX_BREAK = 2;

/** As if line ends were not there: base64 and hex are broken into lines by the tools that write them. */
export function foldedScanner(automaton: Automaton): Scanner {
  const { root, depth, length, owner } = automaton;
  const deepest = depth.reduce((most, each) => Math.max(most, each), 0);
  // Where each of the last bytes stood, since line ends lie between them; counted from the beginning of the stream.
  const places = new Float64Array(deepest + 1);
  let [state, count, seen, breaks] = [0, 0, 0, 0];
  const placeOf = (back: number) => places[(count - back) % places.length] ?? 0;
  return {
    scan(bytes, from, found) {
      // The stream's position of the first byte here.
      const base = seen - from;
      const end = bytes.length;
      for (let at = from; at < end; at++) {
        if (state === 0) {
          while (at < end && root[bytes[at] ?? 0] === 0) at++;
          if (at === end) break;
          count = places.length;
        }
        const byte = bytes[at] ?? 0;
        if (byte === LF || byte === CR) {
          if (++breaks > MAX_BREAK) state = 0;
          continue;
        }
        breaks = 0;
        places[count % places.length] = base + at;
        count++;
        state = automaton.step(state, byte);
        const match = length[state] ?? 0;
        if (match !== 0) found(placeOf(match) - base, at + 1, owner[state] ?? 0);
      }
      seen += end - from;
    },
    get pending() {
      const back = depth[state] ?? 0;
      return back === 0 ? 0 : seen - placeOf(back);
    },
    reset() {
      state = 0;
    },
  };
}
