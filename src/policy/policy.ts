import type { DialectName } from '../skill/index.ts';

/** Where a skill comes from, as far as anybody vouches for it. A skill that shadows another inherits nothing (SK-12). */
export const TRUST_LEVELS = ['bundled', 'user', 'untrusted'] as const;
export type Trust = (typeof TRUST_LEVELS)[number];

/** What a run is given when it is allowed. Lists are sorted and without doubles, so that equal grants are equal as JSON. */
export type Grant = {
  network: NetworkGrant;
  /** Capabilities that the broker lends: `provider/endpoint` or `custom/key`. */
  secrets: string[];
  /** The folder that the caller named to work in; null: an empty private one. */
  workspace: { path: string; writable: boolean } | null;
  /** Single paths of the host beyond it: hidden files of the workspace, protected ones to be written, paths of the home. */
  paths: { path: string; writable: boolean }[];
  /** False only for the driver without isolation, which a person asked for twice. */
  isolated: boolean;
};

/** `public`: any address that is not private, because the skill names no hosts. */
export type NetworkGrant =
  | { kind: 'none' }
  | { kind: 'broker' }
  | { kind: 'hosts'; hosts: string[] }
  | { kind: 'public' };

/** One wish to run something: facts only, gathered before anybody decides. */
export type Request = {
  trust: Trust;
  dialect: DialectName;
  skill: { name: string; version: string | null; digest: string };
  /** Who published it: a registry's tenant or a signer; null for a plain folder or archive. */
  publisher: string | null;
  target: Target;
  readOnly: boolean;
  alwaysAsk: boolean;
  /** What the run would have. */
  grant: Grant;
  /** Of its secrets those that only the caller wants: nothing of the skill says so. Absent: none. */
  given?: readonly string[];
};
export type Target = { kind: 'main' | 'tool' | 'script' | 'command'; name: string };

/** What people said before about exactly this: same content, target, grant, image and dependencies. */
export type History = {
  /** Some run of it was allowed by a person (GB-17: the first run is behind it); what came by a flag or an elicitation, which
   *  an agent can drive, does not count. */
  approvedBefore: boolean;
  /** "Always for this content", not expired. */
  always: boolean;
  /** "Deny always". */
  denied: boolean;
};

export const VERDICTS = ['allow', 'ask', 'deny'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The rule that decided: which file (or `default`), its position there, and its name. */
export type RuleRef = { source: string; index: number; name: string };

export type Decision = {
  verdict: Verdict;
  rule: RuleRef;
  /** Sentences for people: what decided, and what of the grant goes beyond the least power. */
  reasons: string[];
  /** Shown above the question when nobody vouches for the source. */
  banner: boolean;
  /** What a person may answer, and through which channel; empty unless the verdict is `ask`. */
  answers: ReadonlyMap<Channel, readonly Answer[]>;
};

/** How an answer reaches us, strongest first. A channel that the asking agent can drive never widens a grant. */
export const CHANNELS = ['terminal', 'console', 'key', 'elicitation', 'flag'] as const;
export type Channel = (typeof CHANNELS)[number];

export const ANSWERS = ['once', 'always', 'deny', 'deny-always'] as const;
export type Answer = (typeof ANSWERS)[number];
