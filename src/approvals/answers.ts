import type { AuditEvent } from '../audit/index.ts';
import { newId, SkillboxError } from '../base/index.ts';
import type { Answer, Channel } from '../policy/index.ts';
import type { AnswerRow, AnswerRows, RunChange } from '../store/index.ts';
import { bindingKey, originKey, refusalKey } from './binding.ts';
import { fromRow, type GivenAnswer, type Seal, toRow, toSealRow } from './given.ts';
import { type AnswerKey, keyInFile } from './key-file.ts';
import { checkState, type Known, lookUp, NOTHING_KNOWN, type State, type Wish } from './known.ts';

/** An answer on its way into the store. */
export type Given = {
  wish: Wish;
  answer: Answer;
  channel: Channel;
  by: string;
  runId: string;
  /** What "once" was given for (binding/callKey). */
  call: string;
  expiresAt: number | null;
};

export interface Answers {
  lookUp(wish: Wish): Promise<Known>;
  /**
   * Keeps the answer, the change of its run and the events that tell of them: all or nothing. False when somebody else has
   * settled the run meanwhile.
   */
  give(given: Given, run: RunChange | null, events: (given: GivenAnswer) => AuditEvent[]): Promise<boolean>;
  /** Newest first, without what was taken back: all that stand, and the last that were for one run. */
  list(): Promise<GivenAnswer[]>;
  revoke(id: string, events: (given: GivenAnswer) => AuditEvent[]): Promise<GivenAnswer>;
  /** Forgets everything: the way out when the store cannot be relied on. */
  reset(events: AuditEvent[]): Promise<void>;
}

const MAX_LISTED = 1000;
/** Each loss means that another process has written: one of them always gets on. */
const MAX_TRIES = 100;
const FIRST_SEAL: Seal = { version: 0, denied: [], revoked: [] };

type Attempt = { seal: Seal; rows: AnswerRow[]; run: RunChange | null; events: AuditEvent[] };

/** `vouching` is the key that vouches for the rows, or the path of its file. */
export function openAnswers(rows: AnswerRows, vouching: AnswerKey | string): Answers {
  const own = typeof vouching === 'string' ? keyInFile(vouching) : vouching;
  const load = async (): Promise<State | null> => {
    // The key first: it is settled after the seal, so that whoever finds the key finds the seal as well.
    const settled = own.settled();
    const seal = await rows.seal();
    const key = settled ?? (seal === null ? null : own.there());
    const hasRows = seal === null && !(await rows.isEmpty());
    // The first answer of all may have come between the two questions.
    return hasRows && (await rows.seal()) !== null ? load() : checkState(seal, key, hasRows);
  };
  const loadReliable = async (): Promise<State | null> => {
    try {
      return await load();
    } catch (cause) {
      throw new SkillboxError('APPROVALS_ALTERED', messageOf(cause), { cause });
    }
  };
  const change = async (act: (state: State) => Promise<Attempt>): Promise<boolean> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const state = (await loadReliable()) ?? { key: own.ensure(), seal: FIRST_SEAL };
      const { seal, ...rest } = await act(state);
      const sealed = toSealRow({ ...seal, version: state.seal.version + 1 }, state.key);
      const result = await rows.write({ ...rest, seal: sealed });
      if (result === 'written') own.settle();
      if (result !== 'stale') return result === 'written';
    }
    throw new SkillboxError('UNWRITABLE', 'the approvals are written to without a pause');
  };
  return {
    async lookUp(wish) {
      try {
        const state = await load();
        return state === null ? NOTHING_KNOWN : await lookUp(rows, wish, state, Date.now());
      } catch (error) {
        // Fail closed: no answer counts, and whoever judges asks for everything.
        return { ...NOTHING_KNOWN, problem: messageOf(error) };
      }
    },
    give: (given, run, events) =>
      change(async ({ key, seal }) => {
        const made = complete(given);
        const denied = made.answer === 'deny-always' ? [...seal.denied, made.id] : seal.denied;
        return { seal: { ...seal, denied }, rows: [toRow(made, key)], run, events: events(made) };
      }),
    async list() {
      const state = await loadReliable();
      if (state === null) return [];
      const newest = await rows.list(MAX_LISTED);
      const known = new Set(newest.map(({ id }) => id));
      // Each `--yes` leaves an answer: what stands must not be lost to view behind a thousand that are over.
      const older = (await rows.standing()).filter(({ id }) => !known.has(id));
      const listed = [...newest, ...older].flatMap(row => fromRow(row, state.key) ?? []);
      return listed.filter(({ id }) => !state.seal.revoked.includes(id));
    },
    async revoke(id, events) {
      const taken: GivenAnswer[] = [];
      await change(async ({ key, seal }) => {
        const [row] = await rows.byIds([id]);
        const found = row === undefined || seal.revoked.includes(id) ? null : fromRow(row, key);
        if (found === null) {
          throw new SkillboxError('NOT_FOUND', `there is no answer "${id}" to take back`, {
            hint: 'skillbox approve list shows them.',
          });
        }
        const revoked = { ...found, revokedAt: Date.now() };
        taken.push(revoked);
        const denied = seal.denied.filter(each => each !== id);
        const next = { ...seal, denied, revoked: [...seal.revoked, id] };
        return { seal: next, rows: [toRow(revoked, key)], run: null, events: events(revoked) };
      });
      const last = taken.at(-1);
      if (last === undefined) throw new SkillboxError('INTERNAL', 'an answer was taken back that nobody found');
      return last;
    },
    async reset(events) {
      await rows.clear(events);
      own.forget();
    },
  };
}

function complete({ wish, call, ...given }: Given): GivenAnswer {
  const { bound, skill, place } = wish;
  const now = Date.now();
  return {
    id: newId(now),
    createdAt: now,
    revokedAt: null,
    ...given,
    skill,
    place,
    bound,
    binding: bindingKey(bound),
    refusal: refusalKey(bound),
    origin: originKey(bound.dialect, skill.name, place),
    call: given.answer === 'once' ? call : null,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
