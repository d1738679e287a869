import { thisAccount } from './place.ts';
import type { TrustList, TrustStore } from './trust-store.ts';
import { type TrustWord, toDistrust, toTrust } from './trust-word.ts';

/** What the user trusts. A word is a path, or `@NAME` for a publisher. */
export interface Trusting {
  /** The user's own directories of skills, trusted without a word. */
  readonly own: readonly string[];
  list(): TrustList;
  /** `added` is false when it was trusted already. */
  add(word: string, cwd: string): { word: TrustWord; added: boolean };
  /** What was taken away; empty when it was not trusted. */
  remove(word: string, cwd: string): TrustWord[];
}

export function createTrusting(
  store: TrustStore,
  own: readonly string[],
  holdsHome: (real: string) => boolean,
): Trusting {
  return {
    own,
    list: () => store.read(),
    add(word, cwd) {
      const wanted = toTrust(word, cwd, thisAccount(), holdsHome);
      return { word: wanted, added: store.add(wanted.kind, wanted.value) };
    },
    remove: (word, cwd) => toDistrust(word, cwd).filter(({ kind, value }) => store.remove(kind, value)),
  };
}
