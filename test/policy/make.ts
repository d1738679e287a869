import fc from 'fast-check';
import {
  ANSWERS,
  CHANNELS,
  type Grant,
  type History,
  type Policies,
  type Policy,
  type Request,
  readPolicy,
  type Scope,
  SHIPPED,
  TRUST_LEVELS,
  VERDICTS,
} from '../../src/policy/index.ts';
import { DIALECTS } from '../../src/skill/index.ts';

export const LEAST: Grant = {
  network: { kind: 'none' },
  secrets: [],
  workspace: { path: '/home/me/project', writable: true },
  paths: [],
  isolated: true,
};

export const FIRST: History = { approvedBefore: false, always: false, denied: false };
export const LATER: History = { ...FIRST, approvedBefore: true };
export const ALWAYS: History = { ...LATER, always: true };

export function request(wish: Partial<Omit<Request, 'grant'>> & { grant?: Partial<Grant> } = {}): Request {
  return {
    trust: 'user',
    dialect: 'skillbox',
    skill: { name: 'word-count', version: '1.0.0', digest: 'ab' },
    publisher: null,
    target: { kind: 'main', name: 'scripts/main.py' },
    readOnly: false,
    alwaysAsk: false,
    ...wish,
    grant: { ...LEAST, ...wish.grant },
  };
}

export const NOW = Date.UTC(2026, 0, 15);

export function inForce(more: Partial<Policies> = {}): Policies {
  return { user: null, shipped: SHIPPED, projects: [], at: NOW, ...more };
}

/** A file that must be right. */
export function policy(text: string, scope: Scope = 'user'): Policy {
  const reading = readPolicy(`version: 1\n${text}`, `${scope}.yaml`, scope);
  if (reading.diagnostics.length > 0) throw new Error(JSON.stringify(reading.diagnostics));
  return reading.policy;
}

const host = fc.constantFrom('api.example.com', 'evil.test', 'a.b.example.com');
const place = fc.record({ path: fc.constantFrom('/srv/data', '/home/me/.env', '/etc/hosts'), writable: fc.boolean() });

export const anyRequest: fc.Arbitrary<Request> = fc.record({
  trust: fc.constantFrom(...TRUST_LEVELS),
  dialect: fc.constantFrom(...DIALECTS),
  skill: fc.record({ name: fc.string(), version: fc.constant(null), digest: fc.string() }),
  publisher: fc.constantFrom(null, 'acme', 'other'),
  target: fc.record({ kind: fc.constantFrom('main', 'tool', 'script', 'command'), name: fc.string() }),
  readOnly: fc.boolean(),
  alwaysAsk: fc.boolean(),
  grant: fc.record({
    network: fc.oneof(
      fc.constantFrom({ kind: 'none' as const }, { kind: 'broker' as const }, { kind: 'public' as const }),
      fc.record({ kind: fc.constant('hosts' as const), hosts: fc.uniqueArray(host) }),
    ),
    secrets: fc.uniqueArray(fc.constantFrom('custom/a', 'github/issues', 'aws/root')),
    workspace: fc.option(place),
    paths: fc.array(place, { maxLength: 3 }),
    isolated: fc.boolean(),
  }),
});

export const anyHistory: fc.Arbitrary<History> = fc.record({
  approvedBefore: fc.boolean(),
  always: fc.boolean(),
  denied: fc.boolean(),
});

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const conditions = fc.record({
  trust: maybe(fc.subarray([...TRUST_LEVELS], { minLength: 1 })),
  dialect: maybe(fc.subarray([...DIALECTS], { minLength: 1 })),
  network: maybe(fc.subarray(['none', 'broker', 'hosts', 'public', 'evil.test', '*.example.com'], { minLength: 1 })),
  secrets: maybe(fc.constantFrom('none', 'any', ['custom/*'], ['aws/*', 'github/*'])),
  workspace: maybe(fc.constantFrom('none', 'read', 'write', 'any', ['/srv/**'])),
  paths: maybe(fc.constantFrom('none', 'read', 'write', 'any', ['/srv/**', '/etc/*'])),
  readOnly: maybe(fc.boolean()),
  alwaysAsk: maybe(fc.boolean()),
  isolated: maybe(fc.boolean()),
});
const MOST_WORDS = { terminal: ANSWERS, console: ANSWERS, key: ANSWERS, elicitation: ['once', 'deny'], flag: ['once'] };

/** A valid file, as JSON, which is YAML. */
export const anyPolicyText: fc.Arbitrary<string> = fc
  .record({
    rules: fc.array(
      fc.record({
        when: conditions,
        verdict: fc.constantFrom(...VERDICTS),
        ask: fc.constantFrom('each-run', 'until-always', 'first-run'),
      }),
      { maxLength: 4 },
    ),
    approvals: fc.record(
      Object.fromEntries(CHANNELS.map(channel => [channel, fc.subarray<string>([...MOST_WORDS[channel]])])),
      { requiredKeys: [] },
    ),
  })
  .map(({ rules, approvals }) => {
    const written = rules.map(({ when, verdict, ask }, index) => ({
      name: `rule-${index}`,
      // A rule that allows must name a condition.
      when: verdict === 'allow' ? { ...when, isolated: when.isolated ?? true } : when,
      verdict,
      ...(verdict === 'ask' ? { ask } : {}),
    }));
    return JSON.stringify({ version: 1, rules: written, approvals });
  });
