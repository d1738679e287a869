import { thisAccount } from '../base/index.ts';
import type { TrustList, TrustStore } from './trust-store.ts';
import { type TrustWord, toDistrust, toTrust } from './trust-word.ts';

/** What the user trusts. A word is a path, or `@NAME` for a publisher. */
export interface Trusting {
  /** The user's own directories of skills, trusted without a word. */
  readonly own: readonly string[];
  list(): TrustList;
  /** `added` is false when it was trusted already. */
  add(word: string, cwd: string): Promise<{ word: TrustWord; added: boolean }>;
  /** What was taken away; empty when it was not trusted. */
  remove(word: string, cwd: string): Promise<TrustWord[]>;
}

/** Called before something is trusted, or no longer; when it throws, nothing changes. */
export type BeforeTrust = (change: 'add' | 'remove', word: TrustWord) => Promise<void>;

export function createTrusting(
  store: TrustStore,
  own: readonly string[],
  holdsHome: (real: string) => boolean,
  before: BeforeTrust,
): Trusting {
  const has = ({ kind, value }: TrustWord) =>
    store.read().entries.some(entry => entry.kind === kind && entry.value === value);
  return {
    own,
    list: () => store.read(),
    async add(word, cwd) {
      const wanted = toTrust(word, cwd, thisAccount(), holdsHome);
      if (has(wanted)) return { word: wanted, added: false };
      await before('add', wanted);
      return { word: wanted, added: store.add(wanted.kind, wanted.value) };
    },
    async remove(word, cwd) {
      const removed: TrustWord[] = [];
      for (const each of toDistrust(word, cwd)) {
        if (has(each)) await before('remove', each);
        if (store.remove(each.kind, each.value)) removed.push(each);
      }
      return removed;
    },
  };
}
