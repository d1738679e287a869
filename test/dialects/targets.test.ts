import { describe, expect, test } from 'vitest';
import { readFrontmatter } from '../../src/dialects/frontmatter.ts';
import { baseSkill } from '../../src/dialects/model.ts';
import { checkTarget, TARGETS, type Target, type TargetContext } from '../../src/dialects/targets.ts';
import { CODES, Findings, type Skill } from '../../src/skill/index.ts';

const CLEAN = 'name: tidy-notes\ndescription: Tidies notes. Use when notes are a mess.';

type Change = { folder?: string | null; document?: string; skill?: Skill | null };

function contextOf(
  yaml: string,
  { folder = 'tidy-notes', document = 'SKILL.md', skill = null }: Change,
): TargetContext {
  const { fields } = readFrontmatter(`---\n${yaml}\n---\nbody\n`);
  const place = (key: string) => ({
    file: document,
    line: 1,
    column: Array.from(fields?.keys() ?? []).indexOf(key) + 1,
  });
  return { folderName: folder, documentPath: document, fields, skill, place };
}

function check(target: Target, yaml: string, change: Change = {}): string[] {
  const findings = new Findings('strict');
  checkTarget(target, contextOf(yaml, change), findings);
  for (const found of findings.list) expect(found.code).toBe(`target-${target}`);
  return findings.list.map(found => found.message);
}

const clientsThat = (yaml: string, change: Change = {}): Target[] =>
  TARGETS.filter(target => check(target, yaml, change).length > 0);

test('every target has its code', () => {
  for (const target of TARGETS) expect(CODES[`target-${target}`].lenient).toBe('warning');
});

test.each(TARGETS)('%s has nothing to say about a plain skill', target => {
  expect(check(target, CLEAN)).toEqual([]);
  expect(check(target, `${CLEAN}\nlicense: MIT\nmetadata:\n  author: me\n  version: "1.0"`)).toEqual([]);
});

test.each(TARGETS)('%s says nothing about fields that could not be read', target => {
  expect(check(target, '- a list')).toEqual([]);
});

describe('AS-02 which clients object to what', () => {
  test.each<[title: string, yaml: string, targets: Target[]]>([
    ['a reserved word in the name', 'name: claude-notes\ndescription: d', ['claude']],
    ['a name of another script', 'name: notizen-ä\ndescription: d', ['claude', 'vscode']],
    ['a name that is a number', 'name: 2024\ndescription: d', ['claude', 'codex']],
    ['a name with a slash', 'name: a/b\ndescription: d', ['claude', 'gemini', 'vscode']],
    ['a name of 65 letters', `name: ${'a'.repeat(65)}\ndescription: d`, ['codex', 'vscode']],
    ['no name', 'description: d', ['gemini']],
    ['a tag in the description', 'name: tidy-notes\ndescription: See <b>this</b>.', ['claude', 'vscode']],
    ['an arrow in the description', 'name: tidy-notes\ndescription: From a -> b.', ['claude']],
    ['1,025 characters', `name: tidy-notes\ndescription: ${'d'.repeat(1025)}`, ['claude', 'codex', 'vscode']],
    ['a description that is true', 'name: tidy-notes\ndescription: true', ['claude', 'codex']],
    ['a colon that needs repair', 'name: tidy-notes\ndescription: Use when: asked', ['claude', 'codex']],
    ['a field of Claude Code', `${CLEAN}\nmodel: opus`, ['spec', 'claude', 'vscode']],
    ['allowed-tools', `${CLEAN}\nallowed-tools: Read`, ['vscode']],
    ['disable-model-invocation', `${CLEAN}\ndisable-model-invocation: true`, ['spec', 'claude']],
    ['an argument-hint that is a list', `${CLEAN}\nargument-hint: [file]`, ['spec', 'claude', 'vscode']],
    ['metadata in braces', `${CLEAN}\nmetadata: {"author": "me"}`, ['spec']],
    ['tools in brackets', `${CLEAN}\nallowed-tools: ["Read"]`, ['spec', 'vscode']],
    ['nested metadata', `${CLEAN}\nmetadata:\n  a:\n    - b`, ['spec']],
    ['metadata that is text', `${CLEAN}\nmetadata: text`, ['codex']],
    ['a short-description that is a list', `${CLEAN}\nmetadata:\n  short-description:\n    - a`, ['spec', 'codex']],
    ['an overlong short-description', `${CLEAN}\nmetadata:\n  short-description: ${'s'.repeat(1025)}`, ['codex']],
  ])('%s', (_title, yaml, targets) => {
    const folder = /^name: (.*)$/m.exec(yaml)?.[1] ?? 'tidy-notes';
    expect(clientsThat(yaml, { folder })).toEqual(TARGETS.filter(target => targets.includes(target)));
  });

  test('another folder: VS Code takes its name', () => {
    expect(check('vscode', CLEAN, { folder: 'other' })).toEqual(['VS Code calls the skill "other", after its folder']);
    expect(check('vscode', CLEAN, { folder: null })).toEqual([]);
  });

  test('a hidden folder: Codex does not look into it', () => {
    expect(clientsThat(CLEAN.replace('tidy-notes', 'hidden'), { folder: '.hidden' })).toEqual(['codex', 'vscode']);
  });
});

describe('AS-01 the file and the folder', () => {
  test('skill.md is found by some only', () => {
    expect(clientsThat(CLEAN, { document: 'skill.md' })).toEqual(['claude', 'codex', 'gemini']);
  });

  const resources = (paths: string[]): Skill => ({
    ...baseSkill('agent-skills', 'tidy-notes', 'd', ''),
    resources: paths.map(path => ({ path, size: 1, kind: 'other' as const })),
  });

  test('uploads hold one SKILL.md and at most 200 files', () => {
    expect(check('claude', CLEAN, { skill: resources(['inner/SKILL.md']) })).toHaveLength(1);
    const many = (count: number) => resources(Array.from({ length: count }, (_, index) => `${index}.txt`));
    expect(check('claude', CLEAN, { skill: many(199) })).toEqual([]);
    expect(check('claude', CLEAN, { skill: many(200) })).toHaveLength(1);
  });
});

describe('AS-03 what models are shown', () => {
  test('Claude Code counts description and when_to_use together', () => {
    const yaml = (length: number) =>
      `name: tidy-notes\ndescription: ${'d'.repeat(1000)}\nwhen_to_use: ${'w'.repeat(length)}`;
    expect(check('claude', yaml(536)).filter(message => message.includes('1536'))).toEqual([]);
    expect(check('claude', yaml(537)).filter(message => message.includes('1537'))).toHaveLength(1);
  });

  test('lengths are counted as the clients count them: code points, on one line', () => {
    expect(check('codex', `name: tidy-notes\ndescription: ${'😀'.repeat(1024)}`)).toEqual([]);
    expect(check('codex', `name: tidy-notes\ndescription: a${'   '.repeat(2000)}b`)).toEqual([]);
  });
});

describe('AS-06 inline collections, wherever they stand', () => {
  test.each(['metadata: {}', 'tags: []', 'metadata:\n  a: {b: c}', 'tags:\n  - [a]', 'tags: [a, b]'])('%j', yaml => {
    expect(check('spec', `${CLEAN}\n${yaml}`).filter(message => message.includes('inline'))).toHaveLength(1);
  });

  test.each(['metadata:\n  a: b', 'tags:\n  - a\n  - b', 'tags:\n- a: b\n  c: d', 'metadata:\n  # c\n  a: "[b]"'])(
    'not %j',
    yaml => {
      expect(check('spec', `${CLEAN}\n${yaml}`).filter(message => message.includes('inline'))).toEqual([]);
    },
  );
});

test('a finding stands at the field that it is about, and names no more than eight', () => {
  const findings = new Findings('strict');
  const extra = Array.from({ length: 20 }, (_, index) => `x${index}: y`).join('\n');
  checkTarget('spec', contextOf(`${CLEAN}\n${extra}`, {}), findings);
  expect(findings.list).toHaveLength(1);
  expect(findings.list[0]).toMatchObject({ line: 1, column: 3, severity: 'warning' });
  expect(findings.list[0]?.message).toMatch(/"x7" and 12 more$/);
});
