import type { DialectName } from '../skill/index.ts';
import type { Glob } from './glob.ts';
import type { GuaranteeName, LevelName } from './levels.ts';
import type { Answer, Channel, NetworkGrant, Trust, Verdict } from './policy.ts';

/**
 * When a rule that asks lets a later run pass: never; after "always for this content"; after any run of it was allowed.
 * The first is what a rule means that says nothing.
 */
export const ASKS = ['each-run', 'until-always', 'first-run'] as const;
export type Ask = (typeof ASKS)[number];

/** `read`: nothing of it may be written. `write`: some of it may. `any`: there is some. */
export const PATH_WORDS = ['none', 'read', 'write', 'any'] as const;
export type PathWord = (typeof PATH_WORDS)[number];

/** `any`: every kind but none. */
export const NETWORK_WORDS = ['none', 'broker', 'hosts', 'public', 'any'] as const;

/** What must be so for a rule to speak; null: it does not matter. */
export type When = {
  trust: readonly Trust[] | null;
  dialect: readonly DialectName[] | null;
  skill: readonly Glob[] | null;
  target: readonly Glob[] | null;
  publisher: readonly Glob[] | null;
  network: { kinds: readonly NetworkGrant['kind'][]; hosts: readonly Glob[] } | null;
  secrets: 'none' | 'any' | readonly Glob[] | null;
  workspace: PathWord | readonly Glob[] | null;
  paths: PathWord | readonly Glob[] | null;
  readOnly: boolean | null;
  alwaysAsk: boolean | null;
  isolated: boolean | null;
};

export const ANYTHING: When = {
  trust: null,
  dialect: null,
  skill: null,
  target: null,
  publisher: null,
  network: null,
  secrets: null,
  workspace: null,
  paths: null,
  readOnly: null,
  alwaysAsk: null,
  isolated: null,
};

export type Rule = {
  name: string;
  when: When;
  verdict: Verdict;
  /** Only where the verdict is `ask`. */
  ask: Ask;
  /** One sentence for people. */
  why: string;
  /** The rule is silent from then on; null: never. */
  expiresAt: number | null;
};

/** One file, read and found right; or one that cannot be used, which denies everything. */
export type Policy = {
  /** Its path, or `default` for what is shipped. */
  source: string;
  rules: readonly Rule[];
  /** The channels that the file names; the others stay as they are. */
  approvals: ReadonlyMap<Channel, readonly Answer[]>;
  /** How long "always" lasts; null: the file does not say. */
  alwaysMs: number | null;
  /** Guarantees that the sandbox must hold more firmly than is shipped. */
  least: ReadonlyMap<GuaranteeName, LevelName>;
  /** Guarantees that it may hold less firmly; only the user's own file can say so. */
  lowered: ReadonlyMap<GuaranteeName, LevelName>;
  /** GB-09: a value that a program could take for an option is refused. */
  strict: boolean;
  /** Why the file cannot be used; null when it can. */
  fault: string | null;
};

/** What is in force for one request. */
export type Policies = {
  user: Policy | null;
  shipped: Policy;
  /** Each may only tighten. */
  projects: readonly Policy[];
  /** The time at which it is asked, for rules that expire. */
  at: number;
};
