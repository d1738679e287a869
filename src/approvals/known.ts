import type { Answer, Channel, History } from '../policy/index.ts';
import type { AnswerRow, AnswerRows, SealRow } from '../store/index.ts';
import { type Bound, bindingKey, originKey, refusalKey } from './binding.ts';
import { fromRow, fromSealRow, type GivenAnswer, isInForce, type Seal } from './given.ts';

/** What would run, and where it lies. */
export type Wish = { bound: Bound; skill: { name: string; version: string | null }; place: string };

/** What is known of earlier answers to a wish. */
export type Known = {
  history: History;
  /** The "deny always" that stands, or else the "always". */
  decisive: GivenAnswer | null;
  /** The last approval of other content under the same name in the same place. */
  previous: GivenAnswer | null;
  /** Why no answer can be relied on; null when all is well. Then everything is asked. */
  problem: string | null;
};

export type State = { key: Buffer; seal: Seal };

export const NOTHING_KNOWN: Known = {
  history: { approvedBefore: false, always: false, denied: false },
  decisive: null,
  previous: null,
  problem: null,
};

/** A settled key never was without a seal: one without the other means that something was taken away. null: nothing was ever kept. */
export function checkState(sealed: SealRow | null, key: Buffer | null, hasRows: boolean): State | null {
  if (sealed === null && key === null && !hasRows) return null;
  if (key === null) throw new Error('the key that vouches for the approvals is gone');
  if (sealed === null) throw new Error('the seal over the approvals is gone');
  const seal = fromSealRow(sealed, key);
  if (seal === null) throw new Error('the seal over the approvals was altered');
  return { key, seal };
}

/** Throws where a row is not what was written: then nothing here can be relied on. */
export async function lookUp(rows: AnswerRows, wish: Wish, state: State, now: number): Promise<Known> {
  const refused = await readDenied(rows, state);
  const refusal = refusalKey(wish.bound);
  // Made anew: how the key is made may have changed since the answer was given.
  const denied = refused.find(({ bound }) => refusalKey(bound) === refusal) ?? null;
  const binding = bindingKey(wish.bound);
  const given = verifyAll(await rows.byBinding(binding), state).filter(each => isInForce(each, now));
  const always = given.find(({ answer }) => answer === 'always') ?? null;
  const history: History = {
    approvedBefore: given.some(({ answer, channel }) => isYes(answer) && !AGENT_CHANNELS.includes(channel)),
    always: always !== null,
    denied: denied !== null,
  };
  return { history, decisive: denied ?? always, previous: await findPrevious(rows, wish, state), problem: null };
}

/** Threat: an agent says yes once to a tool that is to be shown before its first run, and no person ever sees it. */
const AGENT_CHANNELS: readonly Channel[] = ['elicitation', 'flag'];

function isYes(answer: Answer): boolean {
  return answer === 'once' || answer === 'always';
}

/** A "deny always" that was deleted is missed, because the seal names it. */
async function readDenied(rows: AnswerRows, state: State): Promise<GivenAnswer[]> {
  if (state.seal.denied.length === 0) return [];
  const found = verifyAll(await rows.byIds(state.seal.denied), state);
  if (found.length < state.seal.denied.length) throw new Error('a "deny always" was removed from the approvals');
  return found;
}

/** Only shown, never relied on for power: a row that does not fit is no reason to stop here. */
async function findPrevious(
  rows: AnswerRows,
  { bound, skill, place }: Wish,
  state: State,
): Promise<GivenAnswer | null> {
  const earlier = (await rows.byOrigin(originKey(bound.dialect, skill.name, place))).flatMap(
    row => fromRow(row, state.key) ?? [],
  );
  const approved = earlier.filter(({ answer }) => isYes(answer));
  // The newest approval decides: whoever approved this content last has nothing new to see.
  const [last] = approved;
  return last === undefined || last.bound.digest === bound.digest ? null : last;
}

function verifyAll(found: readonly AnswerRow[], { key, seal }: State): GivenAnswer[] {
  return found.flatMap(row => {
    const given = fromRow(row, key);
    if (given === null) throw new Error(`the answer ${JSON.stringify(row.id)} was altered`);
    // Taken back: an old copy of the row that was put in again does not bring it back.
    return seal.revoked.includes(given.id) ? [] : [given];
  });
}
