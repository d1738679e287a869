import { MOST } from './defaults.ts';
import { beyondLeast } from './least.ts';
import { speaks } from './matches.ts';
import {
  type Answer,
  CHANNELS,
  type Channel,
  type Decision,
  type History,
  type Request,
  type RuleRef,
  VERDICTS,
  type Verdict,
} from './policy.ts';
import type { Policies, Policy, Rule } from './rules.ts';
import { termsOf } from './terms.ts';

/** A rule that speaks, and what it comes to after what people said before. */
type Ruling = { ref: RuleRef; verdict: Verdict; rule: Rule; because: string };

const NONE: ReadonlyMap<Channel, readonly Answer[]> = new Map();

/**
 * Whether something may run. Pure and total: every request gets a verdict, and where nothing speaks it is no. The first rule
 * that speaks decides, the user's own before the shipped ones; a project's can only make it stricter.
 */
export function decide(policies: Policies, request: Request, history: History): Decision {
  const banner = request.trust === 'untrusted';
  const refuse = (rule: RuleRef, reason: string): Decision => ({
    verdict: 'deny',
    rule,
    reasons: [reason],
    banner,
    answers: NONE,
  });
  if (history.denied) return refuse(outside('history', 'denied-before'), 'You said that this must never run.');
  const broken = [policies.user, policies.shipped, ...policies.projects].find(policy => hasFault(policy));
  if (broken) return refuse(outside(broken.source, 'unusable-policy'), unusable(broken));
  const rulings = gather(policies, request, history);
  if (rulings === null) return refuse(outside('default', 'no-rule'), 'No rule allows it.');
  const [first, ...others] = rulings;
  const last = others.reduce((a, b) => (strictness(b) > strictness(a) ? b : a), first);
  const beyond = beyondLeast(request.grant);
  return {
    verdict: last.verdict,
    rule: last.ref,
    reasons: [last.because, ...beyond, ...givenBy(request)],
    banner,
    answers: last.verdict === 'ask' ? answersFor(policies, rulings, beyond.length > 0) : NONE,
  };
}

/** Whoever is asked must not take a caller's wish for the author's. */
function givenBy({ given = [] }: Request): string[] {
  return given.length === 0
    ? []
    : [`Whoever runs it gives it ${given.join(', ')}: the skill itself does not ask for that.`];
}

function hasFault(policy: Policy | null): policy is Policy {
  return policy !== null && policy.fault !== null;
}

function unusable({ source, fault }: Policy): string {
  return `Nothing runs while ${source} cannot be used: ${fault ?? ''}`;
}

/** For what no rule of a file decided. */
function outside(source: string, name: string): RuleRef {
  return { source, index: -1, name };
}

/** The ruling of the user's or the shipped rules, then those of projects; null where the former have none. */
function gather(
  { user, shipped, projects, at }: Policies,
  request: Request,
  history: History,
): [Ruling, ...Ruling[]] | null {
  const rulingOf = (policy: Policy | null) => (policy === null ? null : firstRuling(policy, request, history, at));
  const base = rulingOf(user) ?? rulingOf(shipped);
  return base === null ? null : [base, ...projects.flatMap(project => rulingOf(project) ?? [])];
}

function firstRuling(policy: Policy, request: Request, history: History, at: number): Ruling | null {
  const index = policy.rules.findIndex(rule => speaks(rule, request, at));
  const rule = policy.rules[index];
  if (rule === undefined) return null;
  const passes = rule.verdict === 'ask' ? passedBefore(rule, history) : null;
  return {
    ref: { source: policy.source, index, name: rule.name },
    verdict: passes === null ? rule.verdict : 'allow',
    rule,
    because: passes === null ? rule.why : `${rule.why} ${passes}`,
  };
}

/** Why a rule that asks need not ask any more; null where it must. */
function passedBefore({ ask }: Rule, history: History): string | null {
  if (ask === 'each-run') return null;
  if (history.always) return 'You allowed it always for this content.';
  return ask === 'first-run' && history.approvedBefore ? 'You allowed a run of it before.' : null;
}

function strictness({ verdict }: Ruling): number {
  return VERDICTS.indexOf(verdict);
}

/** Who may answer what: what every file leaves, less "always" where a rule asks each time, less what an agent must not widen. */
function answersFor(policies: Policies, rulings: readonly Ruling[], beyond: boolean): Decision['answers'] {
  const { answers } = termsOf(policies);
  const eachRun = rulings.some(({ rule }) => rule.verdict === 'ask' && rule.ask === 'each-run');
  const left = CHANNELS.map((channel): [Channel, Answer[]] => {
    const kept = (answers.get(channel) ?? []).filter(answer => {
      if (!MOST[channel].includes(answer)) return false;
      if (channel === 'elicitation' && answer === 'once' && beyond) return false;
      return !(eachRun && answer === 'always');
    });
    return [channel, kept];
  });
  return new Map(left.filter(([, kept]) => kept.length > 0));
}
