import { type Entry, FIRST_PREV, type Head, hashOf, openEntry } from './entry.ts';
import type { KeptEntry, Walked } from './journal.ts';

/** The first thing that is wrong. `chain` and `seq` name the entry where they can be told. */
export type Wrong = { chain: string | null; seq: number | null; where: string; what: string };

/** What a walk is held against: heads that were true once, as checkpoints say; of one chain there may be many. */
export type Expected = readonly Head[];

/**
 * Checks entries one by one and remembers one head for each chain, so that memory does not grow with the journal. Answers
 * with what is wrong; after that there is nothing more to ask.
 */
export class Verifier {
  readonly #store: string;
  readonly #heads: Map<string, Head>;
  /** By chain and number; two checkpoints may say different things of one entry, and then one of them is wrong. */
  readonly #expected = new Map<string, Map<number, string[]>>();
  entries = 0;

  constructor(store: string, heads: readonly Head[], expected: Expected) {
    this.#store = store;
    this.#heads = new Map(heads.map(head => [head.chain, head]));
    for (const { chain, seq, hash } of expected) {
      const heads = this.#expected.get(chain) ?? new Map<number, string[]>();
      heads.set(seq, [...(heads.get(seq) ?? []).filter(other => other !== hash), hash]);
      this.#expected.set(chain, heads);
    }
  }

  check(step: Walked): Wrong | null {
    if (step.kind === 'damage') return { chain: null, seq: null, where: step.where, what: step.what };
    const entry = open(step);
    const wrong = entry === null ? at(step, 'its text was changed') : this.#checkEntry(step, entry);
    if (wrong === null) this.entries++;
    return wrong;
  }

  /** After the last entry: whether something that a checkpoint saw is not there any more. */
  finish(): Wrong | null {
    for (const [chain, heads] of this.#expected) {
      const reached = this.#heads.get(chain)?.seq ?? 0;
      const lost = [...heads.keys()].find(seq => seq > reached);
      if (lost === undefined) continue;
      const what = `is missing: the checkpoint saw entry ${lost}, and the chain ends with ${reached}`;
      return { chain, seq: reached + 1, where: 'the end of the journal', what };
    }
    return null;
  }

  get heads(): Head[] {
    return [...this.#heads.values()];
  }

  #checkEntry(step: KeptEntry, { chain, seq, prev }: Pick<Entry, 'chain' | 'seq' | 'prev'>): Wrong | null {
    const { found } = step;
    if (hashOf(step.body) !== step.hash) return at(step, 'it was changed: its hash does not fit', { chain, seq });
    if (found !== null && (found.chain !== chain || found.seq !== seq))
      return at(step, `another entry stands in its place: ${name(chain, seq)}`);
    if (chain !== this.#store && !chain.startsWith(`${this.#store}/`))
      return at(step, 'it belongs to another store', { chain, seq });
    const head = this.#heads.get(chain) ?? { chain, seq: 0, hash: FIRST_PREV };
    if (seq > head.seq + 1) {
      const what = `is missing: after ${head.seq} comes ${seq}`;
      return { chain, seq: head.seq + 1, where: step.where, what };
    }
    if (seq <= head.seq) return at(step, `it comes after entry ${head.seq}: it was moved or inserted`, { chain, seq });
    if (prev !== head.hash) return at(step, 'it does not continue the entry before it', { chain, seq });
    this.#heads.set(chain, { chain, seq, hash: step.hash });
    if (
      this.#expected
        .get(chain)
        ?.get(seq)
        ?.some(hash => hash !== step.hash)
    )
      return at(step, 'it is not the entry that the checkpoint saw', { chain, seq });
    return null;
  }
}

function at(step: KeptEntry, what: string, own: { chain: string; seq: number } | null = null): Wrong {
  // The place is firmer than the text: a changed text may name another entry.
  const { chain, seq } = step.found ?? own ?? { chain: null, seq: null };
  return { chain, seq, where: step.where, what };
}

/** null for a text that is no entry: whoever lists or exports could not read it either. */
function open(step: KeptEntry): Entry | null {
  try {
    return openEntry(step);
  } catch {
    return null;
  }
}

function name(chain: string, seq: number): string {
  return `entry ${seq} of chain ${chain}`;
}

/** For people: which entry, what is wrong with it, and where it stands. */
export function describeWrong({ chain, seq, where, what }: Wrong): string {
  const subject = chain === null || seq === null ? '' : `${name(chain, seq)}: `;
  return `${subject}${what} (${where})`;
}
