import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CHANNELS,
  decide,
  isStrict,
  MOST,
  type Policies,
  readPolicy,
  requiredLevels,
  SHIPPED,
  termsOf,
  VERDICTS,
} from '../../src/policy/index.ts';
import { ALWAYS, anyHistory, anyPolicyText, anyRequest, FIRST, inForce, LATER, NOW, policy, request } from './make.ts';

const read = (text: string, scope: 'user' | 'project') => {
  const { policy: found, diagnostics } = readPolicy(text, `${scope}.yaml`, scope);
  expect(diagnostics).toEqual([]);
  return found;
};
const strictness = (verdict: (typeof VERDICTS)[number]) => VERDICTS.indexOf(verdict);

describe('every decision', () => {
  test('is made: any request under any files has a verdict, a rule and a reason', () => {
    fc.assert(
      fc.property(anyPolicyText, anyPolicyText, anyRequest, anyHistory, (user, project, wish, history) => {
        const policies = inForce({ user: read(user, 'user'), projects: [read(project, 'project')] });
        const decision = decide(policies, wish, history);
        expect(VERDICTS).toContain(decision.verdict);
        expect(decision.reasons[0]).toMatch(/\.$/);
        expect(decision.rule.name).not.toBe('');
        if (decision.verdict !== 'ask') expect(decision.answers.size).toBe(0);
        for (const [channel, answers] of decision.answers) {
          for (const answer of answers) expect(MOST[channel]).toContain(answer);
        }
        expect(decide(policies, wish, history)).toEqual(decision);
      }),
    );
  });

  test('is no where no rule speaks', () => {
    const nothing = inForce({ shipped: { ...SHIPPED, rules: [] } });
    fc.assert(
      fc.property(anyRequest, anyHistory, (wish, history) => {
        expect(decide(nothing, wish, history).verdict).toBe('deny');
      }),
    );
    expect(decide(nothing, request(), FIRST).rule).toEqual({ source: 'default', index: -1, name: 'no-rule' });
  });

  test('is no where a person said "never", whatever a file says', () => {
    const user = policy('rules: [{name: all, when: {trust: [bundled, user, untrusted]}, verdict: allow}]');
    fc.assert(
      fc.property(anyRequest, anyHistory, (wish, history) => {
        expect(decide(inForce({ user }), wish, { ...history, denied: true }).verdict).toBe('deny');
      }),
    );
  });

  test('is no while a file cannot be used, and says which and why', () => {
    const broken = readPolicy('version: 1\nruels: []\n', '/p/policy.yaml', 'user').policy;
    for (const more of [{ user: broken }, { projects: [broken] }]) {
      fc.assert(
        fc.property(anyRequest, anyHistory, (wish, history) => {
          expect(decide(inForce(more), wish, history).verdict).toBe('deny');
        }),
      );
      const { rule, reasons } = decide(inForce(more), request(), FIRST);
      expect(rule).toEqual({ source: '/p/policy.yaml', index: -1, name: 'unusable-policy' });
      expect(reasons[0]).toBe(
        'Nothing runs while /p/policy.yaml cannot be used: line 2: the policy has no key "ruels".',
      );
    }
  });
});

describe('a project', () => {
  const without = ({ user }: Pick<Policies, 'user'>) => inForce({ user });

  test('can only tighten: with its file no verdict is laxer, and no channel may answer more', () => {
    fc.assert(
      fc.property(anyPolicyText, anyPolicyText, anyRequest, anyHistory, (own, project, wish, history) => {
        const user = read(own, 'user');
        const before = decide(without({ user }), wish, history);
        const after = decide(inForce({ user, projects: [read(project, 'project')] }), wish, history);
        expect(strictness(after.verdict)).toBeGreaterThanOrEqual(strictness(before.verdict));
        if (before.verdict !== 'ask') return;
        for (const channel of CHANNELS) {
          expect(before.answers.get(channel) ?? []).toEqual(
            expect.arrayContaining([...(after.answers.get(channel) ?? [])]),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  test('allows nothing that is not allowed without it', () => {
    const project = policy('rules: [{name: all, when: {trust: [user, untrusted]}, verdict: allow}]', 'project');
    const wish = request({ trust: 'untrusted' });
    const decision = decide(inForce({ projects: [project] }), wish, ALWAYS);
    expect(decision).toMatchObject({ verdict: 'ask', rule: { source: 'default', name: 'untrusted' } });
  });

  test('denies, asks each time, and takes answers away', () => {
    const deny = policy('rules: [{name: none, when: {dialect: skillbox}, verdict: deny, why: Not here.}]', 'project');
    expect(decide(inForce({ projects: [deny] }), request(), ALWAYS)).toMatchObject({
      verdict: 'deny',
      rule: { source: 'project.yaml', index: 0, name: 'none' },
      reasons: ['Not here.'],
    });
    const ask = policy('rules: [{name: each, when: {}, verdict: ask}]', 'project');
    const asked = decide(inForce({ projects: [ask] }), request(), ALWAYS);
    expect(asked.verdict).toBe('ask');
    expect(asked.answers.get('terminal')).toEqual(['once', 'deny', 'deny-always']);
    const closed = policy('approvals: {flag: [], terminal: [once]}', 'project');
    const left = decide(inForce({ projects: [closed] }), request({ trust: 'untrusted' }), FIRST).answers;
    expect([left.get('flag'), left.get('terminal'), left.get('key')]).toEqual([
      undefined,
      ['once'],
      ['once', 'deny', 'deny-always'],
    ]);
  });

  test('several are all heard: an inner one cannot undo an outer one', () => {
    const inner = policy('rules: [{name: ok, when: {trust: user}, verdict: allow}]', 'project');
    const outer = policy('rules: [{name: no, when: {}, verdict: deny}]', 'project');
    expect(decide(inForce({ projects: [inner, outer] }), request(), FIRST).rule.name).toBe('no');
  });
});

describe('the user', () => {
  test('speaks before what is shipped, and the first rule that speaks decides', () => {
    const user = policy(`rules:
  - {name: not-this, when: {skill: word-*}, verdict: deny}
  - {name: mine, when: {trust: untrusted, network: none, secrets: none, paths: none}, verdict: allow}`);
    expect(decide(inForce({ user }), request(), FIRST)).toMatchObject({ verdict: 'deny', rule: { index: 0 } });
    const other = request({ skill: { name: 'other', version: null, digest: '' }, trust: 'untrusted' });
    expect(decide(inForce({ user }), other, FIRST)).toMatchObject({
      verdict: 'allow',
      rule: { name: 'mine', index: 1 },
    });
    // What no rule of theirs speaks about is decided as shipped.
    const asking = { ...other, trust: 'user' as const, alwaysAsk: true };
    expect(decide(inForce({ user }), asking, FIRST).rule).toMatchObject({ source: 'default', name: 'always-ask' });
  });

  test('a rule that asks and says no more asks each time', () => {
    const user = policy('rules: [{name: a, when: {trust: user}, verdict: ask}]');
    expect(decide(inForce({ user }), request(), ALWAYS).verdict).toBe('ask');
    const first = policy('rules: [{name: a, when: {trust: user}, verdict: ask, ask: first-run}]');
    expect([FIRST, LATER].map(history => decide(inForce({ user: first }), request(), history).verdict)).toEqual([
      'ask',
      'allow',
    ]);
  });

  test('a rule is silent from the day on that it names', () => {
    const user = policy('rules: [{name: a, when: {trust: untrusted}, verdict: allow, expires: 2026-01-16}]');
    const at = (time: number) => decide(inForce({ user, at: time }), request({ trust: 'untrusted' }), FIRST).verdict;
    expect([at(NOW), at(Date.UTC(2026, 0, 16) - 1), at(Date.UTC(2026, 0, 16))]).toEqual(['allow', 'allow', 'ask']);
  });
});

describe('patterns', () => {
  const verdictOf = (rule: string, grant: Parameters<typeof request>[0]) =>
    decide(inForce({ user: policy(`rules: [{name: r, ${rule}}]`) }), request(grant), FIRST).rule.name;
  const command = (name: string) => ({ target: { kind: 'command' as const, name } });
  const hosts = (...names: string[]) => ({ grant: { network: { kind: 'hosts' as const, hosts: names } } });

  test.each<[string, Parameters<typeof request>[0], boolean]>([
    // A rule that allows must cover all of it …
    ["when: {secrets: ['custom/*']}, verdict: allow", { grant: { secrets: ['custom/a', 'custom/b'] } }, true],
    ["when: {secrets: ['custom/*']}, verdict: allow", { grant: { secrets: ['aws/root', 'custom/a'] } }, false],
    ["when: {secrets: ['github/*']}, verdict: allow", { grant: { secrets: ['github/*'] } }, true],
    ["when: {secrets: ['git*/**']}, verdict: allow", { grant: { secrets: ['github/*'] } }, true],
    // … also where all of a provider is wanted, and not all of it is allowed.
    ["when: {secrets: ['github/?']}, verdict: allow", { grant: { secrets: ['github/*'] } }, false],
    ["when: {secrets: ['github/[!d]*']}, verdict: allow", { grant: { secrets: ['github/*'] } }, false],
    ["when: {secrets: ['aws/*']}, verdict: allow", { grant: { secrets: ['github/*'] } }, false],
    ["when: {network: ['*.example.com']}, verdict: allow", hosts('a.example.com', 'b.c.example.com'), true],
    ["when: {network: ['*.example.com']}, verdict: allow", hosts('a.example.com', 'evil.test'), false],
    ["when: {network: ['*.example.com']}, verdict: allow", hosts('example.com.evil.test'), false],
    ["when: {network: ['*.example.com']}, verdict: allow", { grant: { network: { kind: 'public' } } }, false],
    ["when: {network: ['*.example.com']}, verdict: allow", hosts(), false],
    // … one that denies need meet one thing of it.
    ["when: {secrets: ['aws/*']}, verdict: deny", { grant: { secrets: ['aws/root', 'custom/a'] } }, true],
    // Whoever wants all of a provider wants this of it too.
    ["when: {secrets: ['github/repos.delete']}, verdict: deny", { grant: { secrets: ['github/*'] } }, true],
    ["when: {secrets: ['git*/repos.*']}, verdict: deny", { grant: { secrets: ['github/*'] } }, true],
    ["when: {secrets: ['aws/root']}, verdict: deny", { grant: { secrets: ['github/*'] } }, false],
    ['when: {network: [evil.test]}, verdict: deny', hosts('a.example.com', 'evil.test'), true],
    ['when: {network: [evil.test]}, verdict: deny', { grant: { network: { kind: 'public' } } }, true],
    ['when: {network: [evil.test]}, verdict: deny', {}, false],
    ['when: {network: any}, verdict: deny', { grant: { network: { kind: 'broker' } } }, true],
    ['when: {network: any}, verdict: deny', {}, false],
    ["when: {paths: ['/srv/**']}, verdict: deny", { grant: { paths: [{ path: '/srv/a/b', writable: false }] } }, true],
    ["when: {paths: ['/srv/*']}, verdict: deny", { grant: { paths: [{ path: '/srv/a/b', writable: false }] } }, false],
    ["when: {paths: ['/srv/**']}, verdict: deny", { grant: { paths: [{ path: '/a/srv/b', writable: false }] } }, false],
    ['when: {paths: write}, verdict: deny', { grant: { paths: [{ path: '/srv/a', writable: false }] } }, false],
    ['when: {paths: read}, verdict: deny', { grant: { paths: [{ path: '/srv/a', writable: false }] } }, true],
    ['when: {workspace: write}, verdict: deny', {}, true],
    ['when: {workspace: none}, verdict: deny', { grant: { workspace: null } }, true],
    ["when: {workspace: ['/home/me/**']}, verdict: deny", {}, true],
    ['when: {publisher: acme}, verdict: deny', {}, false],
    ['when: {publisher: acme}, verdict: deny', { publisher: 'acme' }, true],
    ['when: {target: scripts/*.py}, verdict: deny', {}, true],
    ['when: {tool: git_*}, verdict: deny', { target: { kind: 'tool', name: 'git_log' } }, true],
    // A command is no path: a rule that allows covers it from its first word on …
    ['when: {target: ls}, verdict: allow', command('ls'), true],
    ['when: {target: ls}, verdict: allow', command('sh -c "id" ./ls'), false],
    ["when: {target: 'cat docs/*'}, verdict: allow", command('cat docs/a.md'), true],
    ["when: {target: 'cat docs/*'}, verdict: allow", command('cat docs/../../etc/passwd'), false],
    ["when: {target: 'cat docs/*'}, verdict: allow", command('rm x/cat docs/a.md'), false],
    ['when: {target: /bin/ls}, verdict: allow', command('/bin/ls'), true],
    ['when: {target: /bin/ls}, verdict: allow', command('bin/ls'), false],
    ["when: {target: '**'}, verdict: allow", command('cat docs/a.md'), true],
    // … and one that denies meets it whatever paths stand in it.
    ["when: {target: 'rm *'}, verdict: deny", command('rm -rf x'), true],
    ["when: {target: 'rm *'}, verdict: deny", command('rm -rf /srv/data'), true],
    ["when: {target: '*rm *'}, verdict: ask", command('/bin/rm -rf /srv/data'), true],
    ["when: {target: 'rm *'}, verdict: deny", command('ls rm x'), false],
    // Whoever has a folder has all that lies in it.
    ["when: {workspace: ['/home/me/project/**']}, verdict: deny", {}, true],
    ["when: {workspace: ['/home/me/project/keys']}, verdict: deny", {}, true],
    ["when: {workspace: ['/home/*/project/keys/*.pem']}, verdict: ask", {}, true],
    ["when: {workspace: ['/home/me/projects/**']}, verdict: deny", {}, false],
    ["when: {workspace: ['/home/**/keys']}, verdict: deny", {}, false],
    ["when: {workspace: ['/home/me/project/**']}, verdict: allow", {}, false],
    ['when: {isolated: false}, verdict: deny', {}, false],
    // What a caller gives beside what the skill declares is covered only by a rule that speaks of secrets.
    ['when: {skill: word-count}, verdict: allow', { grant: { secrets: ['custom/a'] } }, true],
    ['when: {skill: word-count}, verdict: allow', { grant: { secrets: ['custom/a'] }, given: ['custom/a'] }, false],
    ['when: {secrets: any}, verdict: allow', { grant: { secrets: ['custom/a'] }, given: ['custom/a'] }, true],
    ['when: {skill: word-count}, verdict: deny', { grant: { secrets: ['custom/a'] }, given: ['custom/a'] }, true],
    ['when: {skill: word-count}, verdict: allow', { grant: { paths: [{ path: '/a', writable: false }] } }, false],
    [
      'when: {skill: word-count, paths: read}, verdict: allow',
      { grant: { paths: [{ path: '/a', writable: false }] } },
      true,
    ],
    ['when: {skill: word-count}, verdict: ask', { grant: { paths: [{ path: '/a', writable: false }] } }, true],
  ])('%s', (rule, wish, speaks) => {
    expect(verdictOf(rule, wish) === 'r').toBe(speaks);
  });
});

describe('what the files say beside rules', () => {
  test('no channel is given more than it can ever have, whoever made the policy', () => {
    const user = { ...policy('rules: []'), approvals: new Map([['flag', ['once', 'always', 'deny-always']]] as const) };
    const { answers } = decide(inForce({ user }), request({ trust: 'user', grant: { secrets: ['custom/a'] } }), FIRST);
    expect(answers.get('flag')).toEqual(['once']);
  });

  test('"always" lasts as the user says, and no longer than a project says', () => {
    const user = policy('approvals: {alwaysLasts: 30d}');
    const project = policy('approvals: {alwaysLasts: 12h}', 'project');
    expect(termsOf(inForce()).alwaysMs).toBe(90 * 86_400_000);
    expect(termsOf(inForce({ user })).alwaysMs).toBe(30 * 86_400_000);
    expect(termsOf(inForce({ user, projects: [project] })).alwaysMs).toBe(12 * 3_600_000);
    expect(termsOf(inForce({ projects: [user] })).alwaysMs).toBe(30 * 86_400_000);
  });

  test('what a sandbox must hold is raised by any file, lowered by the user alone', () => {
    const level = (policies: Policies, isolated = true) => requiredLevels(policies, isolated, false).get('memory');
    const raised = policy('least: {memory: kernel-tree}', 'project');
    const lowered = policy('lower: {memory: polled}');
    expect(level(inForce())).toBe('kernel-process');
    expect(level(inForce({ user: lowered }))).toBe('polled');
    expect(level(inForce({ user: lowered, projects: [raised] }))).toBe('kernel-tree');
    // Without isolation only what a file says in so many words.
    expect(requiredLevels(inForce(), false, false).size).toBe(0);
    expect(level(inForce({ projects: [raised] }), false)).toBe('kernel-tree');
    expect(level(inForce({ user: lowered }), false)).toBeUndefined();
  });

  test('whoever shares a machine is held to more, until the operator’s own file says less', () => {
    const lowered = policy('lower: {memory: polled}', 'user');
    const levels = requiredLevels(inForce(), true, true);
    expect(['memory', 'pids', 'cpu'].map(name => levels.get(name as 'cpu'))).toEqual(Array(3).fill('kernel-tree'));
    expect(requiredLevels(inForce({ user: lowered }), true, true).get('memory')).toBe('polled');
  });

  test('GB-09 any file can be strict', () => {
    const strict = policy('strict: true', 'project');
    expect([isStrict(inForce()), isStrict(inForce({ projects: [strict] }))]).toEqual([false, true]);
  });
});
