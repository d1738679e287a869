import { DIALECTS } from '../skill/index.ts';
import type { GuaranteeName, LevelName } from './levels.ts';
import type { Answer, Channel } from './policy.ts';
import { ANYTHING, type Policy, type Rule, type When } from './rules.ts';

const DAY_MS = 86_400_000;

type Ruling = Pick<Rule, 'verdict' | 'ask'>;
const ALLOW: Ruling = { verdict: 'allow', ask: 'each-run' };
const ask = (how: Rule['ask']): Ruling => ({ verdict: 'ask', ask: how });

function rule(name: string, when: Partial<When>, ruling: Ruling, why: string): Rule {
  return { name, when: { ...ANYTHING, ...when }, ...ruling, why, expiresAt: null };
}

/** Written out once more in every rule that allows, so that no order of rules can let more pass. */
const LEAST: Partial<When> = {
  network: { kinds: ['none'], hosts: [] },
  secrets: 'none',
  paths: 'none',
  alwaysAsk: false,
  isolated: true,
};

/** The first that speaks decides; where none does, nothing runs. */
const RULES: readonly Rule[] = [
  rule('untrusted', { trust: ['untrusted'] }, ask('each-run'), 'Nobody vouches for where this skill comes from.'),
  rule('always-ask', { alwaysAsk: true }, ask('each-run'), 'The skill wants a person to be asked each time.'),
  rule('not-isolated', { isolated: false }, ask('each-run'), 'Nothing would stand between the skill and your account.'),
  rule(
    'network',
    { network: { kinds: ['broker', 'hosts', 'public'], hosts: [] } },
    ask('until-always'),
    'The skill wants the network.',
  ),
  rule('secrets', { secrets: 'any' }, ask('until-always'), 'The skill wants secrets.'),
  rule('host-paths', { paths: 'any' }, ask('until-always'), 'The skill wants files beyond its workspace.'),
  rule(
    'gibberish-bundled-read-only',
    { ...LEAST, dialect: ['gibberish'], trust: ['bundled'], readOnly: true },
    ALLOW,
    'The tool ships with Skillbox and changes nothing.',
  ),
  rule(
    'gibberish-user-read-only',
    { dialect: ['gibberish'], trust: ['user'], readOnly: true },
    ask('first-run'),
    'A tool of yours that changes nothing is shown to you before its first run.',
  ),
  rule(
    'gibberish-writes',
    { dialect: ['gibberish'], trust: ['bundled', 'user'], readOnly: false },
    ask('until-always'),
    'The tool may change your files.',
  ),
  rule(
    'least-power',
    { ...LEAST, dialect: DIALECTS.filter(dialect => dialect !== 'gibberish'), trust: ['bundled', 'user'] },
    ALLOW,
    'It has the least power, and its source is yours or ships with Skillbox.',
  ),
];

const EVERY_ANSWER: readonly Answer[] = ['once', 'always', 'deny', 'deny-always'];

/**
 * The most that each channel can ever be given. An agent may drive an elicitation, and put a flag on a command line: neither
 * can decide about later runs.
 */
export const MOST: Readonly<Record<Channel, readonly Answer[]>> = {
  terminal: EVERY_ANSWER,
  console: EVERY_ANSWER,
  key: EVERY_ANSWER,
  elicitation: ['once', 'deny'],
  flag: ['once'],
};

/** What those who share a machine must be held to beyond what is shipped: one of them must not take it from the others. */
export const SHARED: ReadonlyMap<GuaranteeName, LevelName> = new Map([
  ['memory', 'kernel-tree'],
  ['pids', 'kernel-tree'],
  ['cpu', 'kernel-tree'],
]);

/** What is in force where no file says otherwise. */
export const SHIPPED = {
  source: 'default',
  rules: RULES,
  approvals: new Map(Object.entries(MOST) as [Channel, readonly Answer[]][]),
  alwaysMs: 90 * DAY_MS,
  // Isolation and network by the kernel always; memory and pids at least per process; a workspace, where there is one, is
  // guarded. Less is refused.
  least: new Map([
    ['files', 'kernel-tree'],
    ['network', 'kernel-tree'],
    ['processes', 'kernel-tree'],
    ['syscalls', 'kernel-tree'],
    ['privileges', 'kernel-tree'],
    ['environment', 'kernel-tree'],
    ['memory', 'kernel-process'],
    ['pids', 'kernel-process'],
    ['time', 'polled'],
    ['workspace', 'polled'],
  ]),
  lowered: new Map(),
  strict: false,
  fault: null,
} as const satisfies Policy;
