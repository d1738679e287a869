import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide, readPolicy } from '../../src/policy/index.ts';
import { anyPolicyText, FIRST, inForce, request } from './make.ts';

const read = (text: string, scope: 'user' | 'project' = 'user') => readPolicy(text, 'policy.yaml', scope);
const faults = (text: string, scope: 'user' | 'project' = 'user') =>
  read(text, scope).diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`);

const WHOLE = `\ufeff# What may run here.
version: 1
strict: true
rules:
  - name: weather
    when:
      trust: [user, untrusted]
      dialect: seksbot
      skill: weather-*
      target: [main.sh, '*.sh']
      publisher: acme
      network: [broker, '*.Example.com', 10.0.0.1:8080]
      secrets: [custom/*]
      workspace: none
      paths: [/srv/data/**]
      readOnly: false
      alwaysAsk: false
      isolated: true
    verdict: ask
    ask: until-always
    why: The forecast needs its key.
    expires: 2027-01-31T18:00Z
approvals:
  terminal: [once, always, deny]
  flag: []
  alwaysLasts: 30d
least:
  memory: kernel-tree
lower:
  pids: polled
`.replaceAll('\n', '\r\n');

describe('a policy file', () => {
  test('is read whole', () => {
    const { policy, diagnostics } = read(WHOLE);
    expect(diagnostics).toEqual([]);
    expect(policy).toMatchObject({
      source: 'policy.yaml',
      strict: true,
      fault: null,
      alwaysMs: 30 * 86_400_000,
      approvals: new Map([
        ['terminal', ['once', 'always', 'deny']],
        ['flag', []],
      ]),
      least: new Map([['memory', 'kernel-tree']]),
      lowered: new Map([['pids', 'polled']]),
    });
    expect(policy.rules).toHaveLength(1);
    const [rule] = policy.rules;
    expect(rule).toMatchObject({
      name: 'weather',
      verdict: 'ask',
      ask: 'until-always',
      why: 'The forecast needs its key.',
      expiresAt: Date.UTC(2027, 0, 31, 18),
    });
    expect(rule?.when).toMatchObject({
      trust: ['user', 'untrusted'],
      dialect: ['seksbot'],
      network: { kinds: ['broker'], hosts: [{ text: '*.example.com' }, { text: '10.0.0.1:8080' }] },
      workspace: 'none',
      readOnly: false,
      isolated: true,
    });
  });

  test('that says nothing beside its version changes nothing', () => {
    const { policy, diagnostics } = read('version: 1\n');
    expect(diagnostics).toEqual([]);
    expect(decide(inForce({ user: policy }), request(), FIRST)).toEqual(decide(inForce(), request(), FIRST));
  });

  const rule = (text: string) => `version: 1\nrules:\n  - {name: r, ${text}}\n`;
  test.each<[string, string, string]>([
    ['a misspelt key', 'version: 1\nruels: []\n', '2:1 the policy has no key "ruels"'],
    ['no version', 'rules: []\n', '1:1 the policy does not say "version: 1"'],
    ['another version', 'version: 2\n', '1:10 the policy does not say "version: 1"'],
    ['a version in quotes', 'version: "1"\n', '1:10 the policy does not say "version: 1"'],
    ['nothing', '', '1:1 the policy is empty'],
    ['a comment only', '# soon\n', '1:1 the policy is empty'],
    ['a list', '- a\n', '1:1 the policy is not a mapping'],
    ['rules that are no list', 'version: 1\nrules: {a: b}\n', '2:8 rules is not a list'],
    ['a rule that is no mapping', 'version: 1\nrules: [deny]\n', '2:9 a rule is not a mapping'],
    ['a misspelt condition', rule('when: {turst: user}, verdict: deny'), '3:22 when has no key "turst"'],
    ['a misspelt verdict', rule('when: {trust: user}, verdict: dney'), '3:45 verdict is "dney"'],
    ['a verdict of another kind', rule('when: {trust: user}, verdict: [deny]'), '3:45 verdict is a list'],
    ['no verdict', rule('when: {trust: user}'), '3:5 a rule has no "verdict"'],
    ['no when', rule('verdict: deny'), '3:5 a rule has no "when"'],
    ['no name', 'version: 1\nrules:\n  - {when: {}, verdict: deny}\n', '3:5 a rule has no "name"'],
    ['allow without a condition', rule('when: {}, verdict: allow'), '3:5 a rule that allows has no condition'],
    ['an empty list', rule('when: {secrets: []}, verdict: allow'), '3:31 secrets is an empty list'],
    ['an unknown trust', rule('when: {trust: friends}, verdict: allow'), '3:29 trust is "friends"'],
    ['a flag that is text', rule('when: {isolated: "yes"}, verdict: deny'), '3:32 isolated is neither true nor false'],
    ['yes for true', rule('when: {isolated: yes}, verdict: deny'), '3:32 isolated is neither true nor false'],
    ['a host with a path', rule('when: {network: [a.test/x]}, verdict: allow'), '3:32 network is "a.test/x"'],
    ['a bare word as host', rule('when: {network: [public, brokre]}, verdict: deny'), '3:40 network is "brokre"'],
    ['a secret without its provider', rule("when: {secrets: ['*']}, verdict: allow"), '3:32 secrets is "*"'],
    ['a path that climbs', rule('when: {paths: [/srv/../etc]}, verdict: allow'), '3:30 paths is "/srv/../etc"'],
    [
      'a path with a slash at its end',
      rule('when: {workspace: /srv/data/}, verdict: deny'),
      '3:33 workspace is "/srv/data/"',
    ],
    ['a path with a slash too many', rule('when: {paths: [/srv//data]}, verdict: deny'), '3:30 paths is "/srv//data"'],
    ['a part of a secret', rule('when: {secrets: [github/a/*]}, verdict: deny'), '3:32 secrets is "github/a/*"'],
    ['a relative path', rule('when: {paths: [srv]}, verdict: allow'), '3:30 paths is "srv"'],
    ['a null condition', rule('when: {trust: }, verdict: allow'), '3:29 trust is ""'],
    ['tool and target', rule('when: {tool: a, target: b}, verdict: deny'), '3:22 tool and target say the same'],
    [
      'how to ask in a rule that does not',
      rule('when: {trust: user}, verdict: deny, ask: first-run'),
      '3:51 "ask" says how a rule asks, and this one does not',
    ],
    ['a day that does not exist', rule('when: {}, verdict: deny, expires: 2027-02-30'), '3:49 expires is no date'],
    ['a time without its zone', rule('when: {}, verdict: deny, expires: 2027-02-20T10:00'), '3:49 expires is no date'],
    [
      'two rules of one name',
      'version: 1\nrules: [{name: a, when: {}, verdict: deny}, {name: a, when: {}, verdict: ask}]\n',
      '2:45 two rules are called "a"',
    ],
    [
      'more for an elicitation than it can have',
      'version: 1\napprovals: {elicitation: [always]}\n',
      '2:27 elicitation cannot be given "always"',
    ],
    ['more for a flag than it can have', 'version: 1\napprovals: {flag: [deny]}\n', '2:20 flag cannot be given "deny"'],
    ['an unknown channel', 'version: 1\napprovals: {mail: [once]}\n', '2:13 approvals has no key "mail"'],
    ['a lasting without unit', 'version: 1\napprovals: {alwaysLasts: 30}\n', '2:26 alwaysLasts is no duration'],
    ['an unknown guarantee', 'version: 1\nleast: {ram: polled}\n', '2:9 least has no key "ram"'],
    [
      'less than is shipped, without saying so',
      'version: 1\nleast: {network: none}\n',
      '2:18 network: none is less than the kernel-tree that is required',
    ],
    ['an alias', 'version: 1\nrules: &a []\nleast: *a\n', '2:11 an anchor is refused'],
    ['a merge key', rule('<<: {verdict: allow}, when: {}, verdict: deny'), '3:15 a rule has no key "<<"'],
    ['a tag', 'version: 1\nstrict: !!bool "true"\n', '2:16 tag tag:yaml.org,2002:bool is not interpreted'],
    ['a key given twice', 'version: 1\nstrict: true\nstrict: false\n', '3:1 "strict" is given twice'],
    ['a key of objects', 'version: 1\n__proto__: {}\n', '2:1 the key __proto__ is refused'],
    ['a second document', 'version: 1\n---\nversion: 1\n', '2:1 a second document begins here'],
    [
      'no YAML',
      'version: 1\nrules: [\n',
      '3:1 Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['text that turns around', 'version: 1\n# \u202eyned\n', '2:3 U+202E cannot be seen'],
  ])('with %s is refused with its place, and denies everything', (_what, text, expected) => {
    expect(faults(text)).toContain(expected);
    const { policy, diagnostics } = read(text);
    expect(decide(inForce({ user: policy }), request(), FIRST).verdict).toBe('deny');
    for (const { hint } of diagnostics) expect(hint).toMatch(/\S\.|\?$/);
  });

  test('of a project cannot lower what the sandbox must hold; the user’s own can', () => {
    const text = 'version: 1\nlower: {memory: none}\n';
    expect(faults(text, 'project')).toEqual(['2:8 a project lowers what the sandbox must hold']);
    expect(faults(text, 'user')).toEqual([]);
  });

  test('as docs/policy.md shows one is right', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/policy.md'), 'utf8');
    const examples = Array.from(page.matchAll(/```yaml\n([\s\S]*?)```/g), match => match[1] ?? '');
    expect(examples).toHaveLength(1);
    expect(examples.flatMap(text => faults(text))).toEqual([]);
  });

  test('says what was meant', () => {
    expect(read('version: 1\nruels: []\n').diagnostics[0]?.hint).toBe('Did you mean rules?');
    expect(read(rule('when: {trust: usre}, verdict: deny')).diagnostics[0]?.hint).toBe('Did you mean user?');
  });
});

describe('hostile files', () => {
  test.each<[string, string]>([
    ['large', `version: 1\n# ${'x'.repeat(70_000)}\n`],
    ['deep', `version: 1\nrules: ${'['.repeat(10_000)}`],
    ['full of rules', `version: 1\nrules:\n${'- {}\n'.repeat(5_000)}`],
    ['full of unknown keys', `${Array.from({ length: 5_000 }, (_, i) => `k${i}: 1`).join('\n')}\n`],
    ['full of faults', '}\n'.repeat(20_000)],
    [
      'full of patterns',
      `version: 1\nrules: [{name: r, verdict: deny, when: {skill: [${Array(200).fill('"*"').join()}]}}]\n`,
    ],
    ['with a long pattern', `version: 1\nrules: [{name: r, verdict: deny, when: {skill: "${'*a'.repeat(200)}"}}]\n`],
  ])('%s: refused within limits', (_what, text) => {
    const { policy, diagnostics } = read(text);
    expect(policy.fault).not.toBeNull();
    expect(diagnostics.length).toBeLessThanOrEqual(50);
  });

  test('any text is read without a throw: right, or one that denies everything', () => {
    const pieces = fc.constantFrom(
      'version: 1\n',
      'rules:\n',
      '- name: a\n',
      '  when: {',
      '}',
      'verdict: allow\n',
      '[',
      ']',
      '&a ',
      '*a',
      '!!x ',
      ': ',
      '\t',
      '\u0000',
      '- ',
      '"',
      "'",
      '|\n',
      '? ',
    );
    const texts = fc.oneof(
      fc.string(),
      fc.array(fc.oneof(pieces, fc.string({ maxLength: 4 }))).map(parts => parts.join('')),
    );
    fc.assert(
      fc.property(texts, text => {
        const { policy, diagnostics } = read(text);
        expect(policy.fault === null).toBe(diagnostics.length === 0);
        if (policy.fault !== null) expect(policy.rules).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('one changed character of a valid file makes it invalid, or leaves a policy that is whole', () => {
    fc.assert(
      fc.property(anyPolicyText, fc.nat(), fc.string({ minLength: 1, maxLength: 1 }), (text, place, character) => {
        const at = place % text.length;
        const { policy, diagnostics } = read(text.slice(0, at) + character + text.slice(at + 1));
        if (diagnostics.length > 0) expect(policy).toMatchObject({ rules: [], fault: expect.any(String) });
        else expect(policy.rules.length).toBe((JSON.parse(text) as { rules: unknown[] }).rules.length);
      }),
    );
  });
});
