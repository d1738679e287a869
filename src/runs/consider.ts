import { type Answers, type Bound, type Known, callKey as keyOfCall, lockOf, type Wish } from '../approvals/index.ts';
import {
  type Answer,
  type Channel,
  type Decision,
  decide,
  type History,
  type Request,
  type Terms,
  termsOf,
} from '../policy/index.ts';
import type { Providers } from '../secrets/index.ts';
import { meaningFor, type Planned, type Runner, type RunRequest } from './plan.ts';

/** A run, what is known of it, and what policy says. */
export type Considered = {
  planned: Planned;
  asked: Request;
  wish: Wish;
  known: Known;
  decision: Decision;
  terms: Terms;
  /** What a "once" is bound to. */
  readonly callKey: string;
};

/** Facts first, then what people said before, then the judge: nothing has been started or built by now. */
export async function considerRun(runner: Runner, request: RunRequest, planned: Planned): Promise<Considered> {
  const { skill, folder } = request;
  const { wish: asked, policies } = planned;
  const wish: Wish = {
    bound: boundTo(asked, planned),
    skill: { name: skill.name, version: skill.version },
    place: folder.origin.path,
  };
  const known = await runner.answers.lookUp(wish);
  const decision = decide(policies, asked, known.history);
  let callKey: string | null = null;
  return {
    planned,
    asked,
    wish,
    known,
    decision: known.problem === null ? decision : askAnyway(decision, known.problem),
    terms: termsOf(policies),
    /** Most runs are allowed without a word from anybody, and nobody asks for it. */
    get callKey() {
      callKey ??= callKeyOf(wish.bound, request, planned);
      return callKey;
    },
  };
}

/** What people said of a wish, as far as it is known before anything is made ready: without image and packages. */
export async function historyOf(
  answers: Answers,
  asked: Request,
  place: string,
  providers: Pick<Providers, 'list'>,
): Promise<History> {
  const { dialect, target, grant, skill } = asked;
  const meaning = meaningFor(asked, providers);
  const bound: Bound = { dialect, digest: skill.digest, target, grant, image: null, meaning, locks: [] };
  return (await answers.lookUp({ bound, skill, place })).history;
}

/** Everything but the call itself; `callKeyOf` adds that. */
export function boundTo(asked: Request, { snapshot, image, standIn, meaning, layers }: Planned): Bound {
  return {
    dialect: asked.dialect,
    digest: snapshot.digest,
    target: asked.target,
    grant: asked.grant,
    image: image ?? standIn?.digest ?? null,
    meaning,
    locks: layers.map(({ manager, key }) => lockOf(manager, key)).sort(),
  };
}

/** Of the environment what the call sets: what image and packages add is bound by their digests. */
export function callKeyOf(bound: Bound, { env }: RunRequest, { spec, invocation }: Planned): string {
  return keyOfCall(bound, {
    argv: spec.argv,
    cwd: spec.cwd,
    env: { ...invocation.env, ...env },
    stdin: invocation.stdin,
    texts: spec.mounts.flatMap(mount => (mount.kind === 'text' ? [{ at: mount.at, text: mount.text }] : [])),
    limits: spec.limits,
  });
}

/** A sticky no may be among what was lost, so that not even what needs no answer passes; and no answer can be kept. */
function askAnyway(decision: Decision, problem: string): Decision {
  if (decision.verdict === 'deny') return decision;
  const once: readonly Answer[] = ['once', 'deny'];
  const channels: readonly Channel[] = ['terminal', 'console', 'key'];
  return {
    ...decision,
    verdict: 'ask',
    rule: { source: 'history', index: -1, name: 'approvals-altered' },
    reasons: [`The record of earlier answers cannot be relied on: ${problem}.`, ...decision.reasons],
    answers: new Map(channels.map(channel => [channel, once])),
  };
}

/** Saying no is open to every channel: it takes nothing that canceling the run would not. */
export function mayAnswer({ answers }: Decision, answer: Answer, channel: Channel): boolean {
  return answer === 'deny' || (answers.get(channel)?.includes(answer) ?? false);
}
