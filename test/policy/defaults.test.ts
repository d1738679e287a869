import { describe, expect, test } from 'vitest';
import {
  beyondLeast,
  decide,
  type Grant,
  GUARANTEE_NAMES,
  type History,
  LEVEL_NAMES,
  type Request,
  type Trust,
} from '../../src/policy/index.ts';
import { GUARANTEES, LEVELS } from '../../src/sandbox/index.ts';
import { DIALECTS } from '../../src/skill/index.ts';
import { ALWAYS, FIRST, inForce, LATER, request } from './make.ts';

const judge = (wish: Parameters<typeof request>[0], history: History) => decide(inForce(), request(wish), history);
const mayAlways = (wish: Parameters<typeof request>[0]) =>
  judge(wish, FIRST).answers.get('terminal')?.includes('always') ?? false;

describe('gibberish, as shipped', () => {
  const tool = { dialect: 'gibberish', target: { kind: 'tool', name: 'git_log' } } as const;

  type Cell = [trust: Trust, readOnly: boolean, alwaysAsk: boolean, first: string, later: string, always: string];
  test.each<Cell>([
    // The whole table: three levels of trust, read_only, always_ask; the first run, a later one, and after "always".
    ['bundled', true, false, 'allow', 'allow', 'allow'],
    ['bundled', false, false, 'ask', 'ask', 'allow'],
    ['bundled', true, true, 'ask', 'ask', 'ask'],
    ['bundled', false, true, 'ask', 'ask', 'ask'],
    ['user', true, false, 'ask', 'allow', 'allow'],
    ['user', false, false, 'ask', 'ask', 'allow'],
    ['user', true, true, 'ask', 'ask', 'ask'],
    ['user', false, true, 'ask', 'ask', 'ask'],
    ['untrusted', true, false, 'ask', 'ask', 'ask'],
    ['untrusted', false, false, 'ask', 'ask', 'ask'],
    ['untrusted', true, true, 'ask', 'ask', 'ask'],
    ['untrusted', false, true, 'ask', 'ask', 'ask'],
  ])(
    'GB-17/18 %s, read_only %s, always_ask %s: %s, later %s, after always %s',
    (trust, readOnly, alwaysAsk, ...row) => {
      const wish = { ...tool, trust, readOnly, alwaysAsk };
      expect([FIRST, LATER, ALWAYS].map(history => judge(wish, history).verdict)).toEqual(row);
    },
  );

  test('GB-17 an untrusted tool is asked about with a banner, and "always" is not offered', () => {
    const wish = { ...tool, trust: 'untrusted', readOnly: true } as const;
    expect(judge(wish, FIRST)).toMatchObject({
      banner: true,
      rule: { source: 'default', index: 0, name: 'untrusted' },
    });
    expect(mayAlways(wish)).toBe(false);
    expect(judge({ ...wish, trust: 'user' }, FIRST).banner).toBe(false);
  });

  test('GB-18 "always" is offered where it will be honoured, and nowhere else', () => {
    expect(mayAlways({ ...tool, trust: 'user', readOnly: false })).toBe(true);
    expect(mayAlways({ ...tool, trust: 'user', readOnly: true })).toBe(true);
    expect(mayAlways({ ...tool, trust: 'user', alwaysAsk: true })).toBe(false);
  });

  test('GB-21 network true asks, also for a bundled tool that changes nothing', () => {
    const wish = { ...tool, trust: 'bundled', readOnly: true, grant: { network: { kind: 'public' } } } as const;
    expect([FIRST, LATER, ALWAYS].map(history => judge(wish, history).verdict)).toEqual(['ask', 'ask', 'allow']);
    expect(judge(wish, FIRST)).toMatchObject({
      rule: { name: 'network' },
      reasons: ['The skill wants the network.', 'It reaches any public address.'],
    });
  });
});

const BEYOND: [what: string, grant: Partial<Grant>][] = [
  ['the broker', { network: { kind: 'broker' } }],
  ['hosts', { network: { kind: 'hosts', hosts: ['api.example.com'] } }],
  ['any address', { network: { kind: 'public' } }],
  ['a secret', { secrets: ['custom/a'] }],
  ['a path to read', { paths: [{ path: '/srv/data', writable: false }] }],
  ['a path to write', { paths: [{ path: '/srv/data', writable: true }] }],
];

describe.each(DIALECTS.filter(dialect => dialect !== 'gibberish'))('%s, as shipped', dialect => {
  test.each(['bundled', 'user'] as const)('the least power runs unasked when the source is %s', trust => {
    const decision = judge({ dialect, trust }, FIRST);
    expect(decision).toMatchObject({ verdict: 'allow', rule: { name: 'least-power' }, banner: false });
    expect(decision.answers.size).toBe(0);
    expect(judge({ dialect, trust, grant: { workspace: null } }, FIRST).verdict).toBe('allow');
  });

  test.each(BEYOND)('%s is asked about until "always"', (_what, grant) => {
    const verdicts = [FIRST, LATER, ALWAYS].map(history => judge({ dialect, grant }, history).verdict);
    expect(verdicts).toEqual(['ask', 'ask', 'allow']);
    expect(mayAlways({ dialect, grant })).toBe(true);
  });

  test.each<[string, Partial<Request> | { grant: Partial<Grant> }]>([
    ['an untrusted source', { trust: 'untrusted' }],
    ['always_ask', { alwaysAsk: true }],
    ['a run without isolation', { grant: { isolated: false } }],
  ])('%s is asked about each time', (_what, wish) => {
    const full = { dialect, ...wish } as Parameters<typeof request>[0];
    expect([FIRST, LATER, ALWAYS].map(history => judge(full, history).verdict)).toEqual(['ask', 'ask', 'ask']);
    expect(mayAlways(full)).toBe(false);
  });
});

describe('the least power', () => {
  test('is no network, no secret, no path and isolation; the workspace belongs to it', () => {
    expect(beyondLeast(request().grant)).toEqual([]);
    for (const [, grant] of [...BEYOND, ['', { isolated: false }] as const]) {
      expect(beyondLeast(request({ grant }).grant)).toHaveLength(1);
    }
  });

  test('is told sentence by sentence', () => {
    const grant = {
      network: { kind: 'hosts' as const, hosts: ['a.test', 'b.test'] },
      secrets: ['custom/a'],
      paths: [{ path: '/srv/data', writable: true }],
      isolated: false,
    };
    expect(beyondLeast(request({ grant }).grant)).toEqual([
      'It runs without isolation: it can do all that your account can.',
      'It reaches a.test, b.test.',
      'It uses custom/a.',
      'It writes /srv/data.',
    ]);
  });
});

describe('channels, as shipped', () => {
  const answers = (wish: Parameters<typeof request>[0]) => Object.fromEntries(judge(wish, FIRST).answers);

  test('an elicitation, which the agent can drive, never widens a grant', () => {
    for (const [, grant] of BEYOND) expect(answers({ grant }).elicitation).toEqual(['deny']);
    expect(answers({ grant: { isolated: false } }).elicitation).toEqual(['deny']);
    expect(answers({ trust: 'untrusted' }).elicitation).toEqual(['once', 'deny']);
  });

  test('a flag answers for one run only', () => {
    for (const [, grant] of BEYOND) expect(answers({ grant }).flag).toEqual(['once']);
  });
});

test('the words for what a sandbox holds are those of the sandbox', () => {
  expect(GUARANTEE_NAMES).toEqual(GUARANTEES);
  expect(LEVEL_NAMES).toEqual(LEVELS);
});
