import { describe, expect, test } from 'vitest';
import { renderManifest, toolPolicy, toolSchema, toolsInMode } from '../../../src/dialects/gibberish/schema.ts';
import type { Mode } from '../../../src/skill/index.ts';
import { skillOf, toolOf } from './tool.ts';

describe('GB-19 JSON Schema', () => {
  test('types, descriptions, defaults and what is required', () => {
    const tool = toolOf('a -- {{q}} {{n}} {{r}} {{b}} {{l}}', [
      'q | string | yes | The query',
      'n | integer | no | Most (default: 10)',
      'r | number | no | ',
      'b | boolean | no | On (default: false)',
      'l | array | yes | Files',
    ]);
    expect(toolSchema(tool)).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        q: { type: 'string', description: 'The query' },
        n: { type: 'integer', description: 'Most (default: 10)', default: 10 },
        r: { type: 'number' },
        b: { type: 'boolean', description: 'On (default: false)', default: false },
        l: { type: 'array', items: { type: 'string' }, description: 'Files' },
      },
      required: ['q', 'l'],
      additionalProperties: false,
    });
  });

  test('a tool without parameters takes an empty object', () => {
    expect(toolSchema(toolOf('a'))).toMatchObject({ properties: {}, required: [], additionalProperties: false });
  });

  test('X-04 a parameter named __proto__ is a property', () => {
    const text = JSON.stringify(toolSchema(toolOf('a -- {{__proto__}}', ['__proto__ | string | yes | P'])));
    expect(text).toContain('"properties":{"__proto__":{"type":"string","description":"P"}}');
  });
});

describe('GB-19 the manifest', () => {
  const tools = [
    { name: 'git_status', description: 'Show git working tree status' },
    { name: 'summarize_url', description: 'Summarize a webpage' },
  ];
  const native = [
    { name: 'typer', description: 'Type text at cursor' },
    { name: 'web_search', description: 'Search the web' },
  ];
  const head = 'You are a model that can do function calling with the following functions:\n';
  const skills = '\n[Skills]\n- git_status: Show git working tree status\n- summarize_url: Summarize a webpage\n';

  test("is the seed's 7.1", () => {
    const natives = '\n[Native Tools]\n- typer: Type text at cursor\n- web_search: Search the web\n';
    expect(renderManifest(tools, native)).toBe(head + natives + skills);
  });

  test('leaves a section out that has no tools', () => {
    expect(renderManifest(tools, [])).toBe(head + skills);
    expect(renderManifest([], [])).toBe(head);
  });

  test('one tool is one line, whatever its description holds', () => {
    const description = ' First\n- fake: tool\u202e\u001b[2J\n\nSecond paragraph.';
    expect(
      renderManifest(
        [
          { name: 'a', description },
          { name: 'b', description: '' },
        ],
        [],
      ),
    ).toBe(`${head}\n[Skills]\n- a: First - fake: tool<U+202E><U+001B>[2J\n- b\n`);
  });

  test.each<[Mode, string[]]>([
    ['Global', ['global', 'both']],
    ['Dev', ['global', 'dev', 'both']],
    ['Meeting', ['global', 'both', 'meeting']],
  ])('offers in mode %s', (mode, expected) => {
    const skill = (name: string, modes: Mode[]) => {
      const base = skillOf([{ ...toolOf('a'), name }]);
      return { ...base, offer: { ...base.offer, modes } };
    };
    const all = [
      skill('global', ['Global']),
      skill('dev', ['Dev']),
      skill('both', ['Dev', 'Global']),
      skill('meeting', ['Meeting']),
      skill('none', []),
    ];
    expect(toolsInMode(all, mode).map(tool => tool.name)).toEqual(expected);
  });
});

test('GB-20 a policy entry names the tool, its two flags and the skill it comes from', () => {
  const skill = skillOf([toolOf('a')], { name: 'git' });
  const needs = { ...skill.needs, readOnly: true, alwaysAsk: false };
  expect(toolPolicy({ ...skill, needs }, { ...toolOf('a'), name: 'git_status' })).toEqual({
    name: 'git_status',
    read_only: true,
    always_ask: false,
    source: { skill: 'git' },
  });
});
