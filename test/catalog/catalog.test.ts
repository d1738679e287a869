import fc from 'fast-check';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import MarkdownIt from 'markdown-it';
import { describe, expect, test } from 'vitest';
import { buildCatalog, cleanLine, FORMATS, type KnownSkill, tokenCounter } from '../../src/catalog/index.ts';
import { tempDirectory } from '../temp.ts';
import { HOSTILE, hostileText } from './hostile.ts';
import { knownSkill, skillsIn, trusted, user } from './make.ts';

const text = async (skills: readonly KnownSkill[], format: (typeof FORMATS)[number]) =>
  (await buildCatalog({ skills }, { format })).text;
const shownNames = async (skills: readonly KnownSkill[], request: Parameters<typeof buildCatalog>[1]) =>
  (await buildCatalog({ skills }, request)).shown.map(({ skill }) => skill.name);

describe('AS-10 the catalog', () => {
  test('as XML is the seed\u2019s example to the character', async () => {
    const pdf = knownSkill('pdf-processing', 'Extracts text and tables from PDF files.');
    expect(await text([pdf], 'xml')).toBe(`<available_skills>
  <skill>
    <name>pdf-processing</name>
    <description>Extracts text and tables from PDF files.</description>
    <location>/absolute/path/to/pdf-processing/SKILL.md</location>
  </skill>
</available_skills>
`);
  });

  test('as JSON and as Markdown', async () => {
    const skills = [knownSkill('b', 'Second.'), knownSkill('a', 'It\u2019s *first* & <best>.')];
    expect(JSON.parse(await text(skills, 'json'))).toEqual({
      skills: [
        { name: 'a', description: 'It\u2019s *first* & <best>.', location: '/absolute/path/to/a/SKILL.md' },
        { name: 'b', description: 'Second.', location: '/absolute/path/to/b/SKILL.md' },
      ],
    });
    expect(await text(skills, 'markdown')).toBe(
      '## Available skills\n\n- **a**: It\u2019s \\*first\\* \\& \\<best\\>. (/absolute/path/to/a/SKILL.md)\n- **b**: Second. (/absolute/path/to/b/SKILL.md)\n',
    );
  });

  test.each(FORMATS)('of no skills is nothing, as %s', async format => {
    expect((await buildCatalog({ skills: [] }, { format })).text).toBe('');
  });

  test('as functions for OpenAI and Anthropic: the name is an enumeration', async () => {
    const skills = [knownSkill('a', 'First.'), knownSkill('b', 'Second.')];
    const [openai] = JSON.parse(await text(skills, 'openai'));
    expect(openai).toMatchObject({
      type: 'function',
      function: {
        name: 'activate_skill',
        description: expect.stringContaining('\n- a: First.\n- b: Second.'),
        parameters: { properties: { name: { enum: ['a', 'b'] } }, required: ['name'], additionalProperties: false },
      },
    });
    const [anthropic] = JSON.parse(await text(skills, 'anthropic'));
    expect(anthropic).toMatchObject({
      name: 'activate_skill',
      input_schema: { properties: { name: { enum: ['a', 'b'] } } },
    });
  });
});

const parser = new XMLParser({
  isArray: name => name === 'skill',
  ignoreAttributes: false,
  parseTagValue: false,
  trimValues: false,
  processEntities: true,
  htmlEntities: false,
});
const asSkills = (texts: readonly string[]) =>
  texts.map((one, index) => knownSkill(cleanLine(`n${index}${one}`).slice(0, 200).toWellFormed(), cleanLine(one)));

/** Entries as a real parser sees them. */
function parsedXml(xml: string): { name: string; description: string; location: string }[] {
  expect(XMLValidator.validate(xml)).toBe(true);
  const { available_skills } = parser.parse(xml) as {
    available_skills: { skill: { name: string; description: string; location: string }[] };
  };
  expect(Object.keys(available_skills).filter(key => key !== '#text')).toEqual(['skill']);
  return available_skills.skill;
}

describe('AS-10 no name or description breaks out, forges an entry or hides text', () => {
  const skills = asSkills(HOSTILE);

  test('as XML: exactly as many entries as skills, each with exactly its text', async () => {
    const entries = parsedXml(await text(skills, 'xml'));
    expect(entries.map(({ name }) => name).sort()).toEqual(skills.map(({ name }) => name).sort());
    expect(entries.map(({ description }) => description).sort()).toEqual(
      skills.map(({ description }) => description).sort(),
    );
  });

  test('as XML, whatever the texts are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostileText, { minLength: 1, maxLength: 6 }), async texts => {
        const shown = asSkills(texts);
        const entries = parsedXml(await text(shown, 'xml'));
        expect(entries.map(({ description }) => description).sort()).toEqual(
          shown.map(({ description }) => description).sort(),
        );
      }),
      { numRuns: 300 },
    );
  });

  test('as Markdown: one list item for each skill, and nothing but text in it', async () => {
    const markdown = new MarkdownIt('default', { html: true, linkify: false });
    await fc.assert(
      fc.asyncProperty(fc.array(hostileText, { minLength: 1, maxLength: 6 }), async texts => {
        const tokens = markdown.parse(await text(asSkills(texts), 'markdown'), {});
        expect(tokens.filter(({ type }) => type === 'list_item_open')).toHaveLength(texts.length);
        expect(tokens.filter(({ type }) => type === 'heading_open')).toHaveLength(1);
        const inner = new Set(tokens.flatMap(({ children }) => children ?? []).map(({ type }) => type));
        for (const type of inner) expect(['text', 'text_special', 'strong_open', 'strong_close']).toContain(type);
      }),
      { numRuns: 200 },
    );
  });

  test('as JSON and as functions: the document holds as many entries as skills', async () => {
    expect(JSON.parse(await text(skills, 'json')).skills).toHaveLength(skills.length);
    const [{ function: activate }] = JSON.parse(await text(skills, 'openai'));
    expect(activate.description.split('\n')).toHaveLength(skills.length + 1);
  });

  test('in every format nothing is left that a reader does not see', async () => {
    for (const format of FORMATS) {
      const shown = await text(skills, format);
      expect(shown.replace(/[\n]/g, '')).not.toMatch(
        /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\u2800]/u,
      );
    }
  });

  test('what people write with stays: emoji sequences, joined scripts, accents', () => {
    for (const kept of [
      '👩\u200d✈\ufe0f crew',
      '👨\u200d👩\u200d👧',
      '1\ufe0f\u20e3',
      'می\u200cخواهم',
      'क्\u200dष',
      'Zoë naïve',
      '日本語',
    ]) {
      expect(cleanLine(kept)).toBe(kept);
    }
    expect(cleanLine('🏴\u{e0067}\u{e0062}\u{e007f} a\u200cb')).toBe('🏴 ab');
    expect(cleanLine('x\ufe0f\ufe0f 👍\ufe0f\ufe0f')).toBe('x 👍\ufe0f');
  });
});

describe('AS-10 the budget', () => {
  const long = 'word '.repeat(150).trim();
  const skills = Array.from({ length: 20 }, (_, index) => knownSkill(`skill-${String(index).padStart(2, '0')}`, long));

  test('without one nothing is cut', async () => {
    const { cuts, tokens, shown } = await buildCatalog({ skills }, {});
    expect([cuts, shown.length]).toEqual([{ leftOut: 0, shortened: 0 }, 20]);
    expect(tokens).toBeGreaterThan(3000);
  });

  test('first cuts descriptions, all alike and no further than needed; then leaves out from the end; and says so', async () => {
    const some = await buildCatalog({ skills }, { budget: 3500 });
    expect(some.cuts).toEqual({ leftOut: 0, shortened: 20 });
    expect(new Set(some.shown.map(({ description }) => description.length)).size).toBe(1);
    expect(some.shown[0]?.description.length).toBeGreaterThan(256);
    expect(some.text).toContain('<!-- To save room, 20 descriptions are shortened. -->');
    const few = await buildCatalog({ skills }, { budget: 400 });
    expect(few.shown.map(({ skill }) => skill.name)).toEqual(skills.slice(0, few.shown.length).map(({ name }) => name));
    expect(few.leftOut.map(({ name }) => name)).toEqual(skills.slice(few.shown.length).map(({ name }) => name));
    expect(few.text).toContain(`${few.leftOut.length} skills are left out`);
    expect(few.cuts.leftOut).toBe(few.leftOut.length);
  });

  test('is kept in every format, whatever it is, and the output tells what was left out', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...FORMATS), fc.integer({ min: 1, max: 4000 }), async (format, budget) => {
        const { tokens, cuts, leftOut, shown, text: out } = await buildCatalog({ skills }, { format, budget });
        expect(tokens).toBeLessThanOrEqual(budget);
        expect(cuts.leftOut).toBe(leftOut.length);
        if (format === 'gibberish') return;
        expect(shown.length + leftOut.length).toBe(skills.length);
        if (shown.length > 0 && leftOut.length > 0) expect(out).toMatch(/left out|"left_out":/);
        if (shown.length > 0) expect(XMLValidator.validate(out) === true || format !== 'xml').toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('counts exactly when asked to', async () => {
    const count = await tokenCounter('exact');
    expect([count('hello world'), count('<|endoftext|>') > 1]).toEqual([2, true]);
    const { tokens, text: out } = await buildCatalog({ skills }, { budget: 500, count });
    expect(tokens).toBe(count(out));
    expect(tokens).toBeLessThanOrEqual(500);
  });

  test('--limit keeps the best, and says how many are left out', async () => {
    const { shown, text: out, leftOut } = await buildCatalog({ skills }, { limit: 3 });
    expect([shown.length, leftOut.length]).toEqual([3, 17]);
    expect(out).toContain('17 skills are left out');
  });
});

describe('the order', () => {
  const always = { modes: ['Global' as const], os: [], always: true, toModels: true, toUsers: true };
  const skills = [
    knownSkill('a', 'Apples.'),
    knownSkill('b', 'Bread.'),
    knownSkill('c', 'Cheese.', { offer: always }),
    knownSkill('d', 'Dates and apples.'),
  ];

  test('SK-13 pinned, then always, then recent, then by name', async () => {
    expect(await shownNames(skills, {})).toEqual(['c', 'a', 'b', 'd']);
    expect(await shownNames(skills, { pinned: ['D'], recent: ['b', 'a', 'none'] })).toEqual(['d', 'c', 'b', 'a']);
  });

  test('SK-13 a query leaves out what does not fit, but for pinned and always', async () => {
    const { shown, unmatched } = await buildCatalog({ skills }, { query: 'apple', pinned: ['b'] });
    expect(shown.map(({ skill }) => skill.name)).toEqual(['b', 'c', 'a', 'd']);
    expect(unmatched).toBe(0);
    expect((await buildCatalog({ skills }, { query: 'breads' })).unmatched).toBe(2);
  });
});

describe('what hides a skill entirely', () => {
  const offer = (more: object) => ({
    modes: ['Global' as const],
    os: [],
    always: false,
    toModels: true,
    toUsers: true,
    ...more,
  });
  const hiddenFor = async (skill: KnownSkill, request: Parameters<typeof buildCatalog>[1] = {}) => {
    for (const format of FORMATS) expect(await text([skill], format)).toBe('');
    return (await buildCatalog({ skills: [skill] }, request)).hidden.map(({ reason }) => reason);
  };

  test('disable-model-invocation', async () => {
    expect(await hiddenFor(knownSkill('a', 'A.', { offer: offer({ toModels: false }) }))).toEqual([
      'disable-model-invocation is set',
    ]);
  });

  test('SK-13 another operating system, with the reason; macos and windows are understood', async () => {
    const mac = knownSkill('a', 'A.', { offer: offer({ os: ['macos', 'windows'] }) });
    expect((await buildCatalog({ skills: [mac] }, { platform: 'linux' })).hidden).toMatchObject([
      { reason: 'it is for macos, windows, not for linux' },
    ]);
    expect(await shownNames([mac], { platform: 'darwin' })).toEqual(['a']);
    expect(await shownNames([mac], { platform: 'win32' })).toEqual(['a']);
  });

  test('GB-19 another mode; Global ones are always there', async () => {
    const skills = [
      knownSkill('all', 'A.'),
      knownSkill('dev', 'D.', { offer: offer({ modes: ['Dev'] }) }),
      knownSkill('none', 'N.', { offer: offer({ modes: [] }) }),
    ];
    expect(await shownNames(skills, {})).toEqual(['all']);
    expect(await shownNames(skills, { mode: 'Dev' })).toEqual(['all', 'dev']);
    expect(await shownNames(skills, { mode: 'Meeting' })).toEqual(['all']);
  });

  test('a word of the caller, such as a denial of the policy', async () => {
    const skills = [knownSkill('a', 'A.'), knownSkill('b', 'B.')];
    const hidden = ({ name }: KnownSkill) => (name === 'a' ? 'denied' : null);
    expect(await shownNames(skills, { hidden })).toEqual(['b']);
  });

  test('a name of which nothing can be seen, or without end', async () => {
    expect(await hiddenFor(knownSkill('', 'A.'))).toHaveLength(1);
    expect(await hiddenFor(knownSkill('x'.repeat(300), 'A.'))).toHaveLength(1);
  });
});

const TOOL = (name: string, what: string) =>
  `### ${name}\n\n${what}\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| count | integer | no | How many (default: 10) |\n\n#### Command\n\n\`\`\`bash\ngit log -n {{count}}\n\`\`\`\n\n`;
const gibberish = (name: string, more: string, ...tools: string[]) =>
  `---\nname: ${name}\nversion: 1.0.0\ndescription: ${name}.\n${more}---\n\n${tools.join('')}`;

describe('gibberish tools', () => {
  const root = skillsIn(
    {
      git: gibberish(
        'git',
        'read_only: true\n',
        TOOL('git_log', 'Show commits.\n\nMore for people.'),
        TOOL('show', 'Show it.'),
      ),
      dev: gibberish('dev', 'modes: [Dev]\nalways_ask: true\n', TOOL('deploy', 'Ship it.')),
      other: gibberish('other', '', TOOL('show', 'Show\u200b\u202e another.')),
      plain: 'No tools.',
    },
    tempDirectory(),
  );
  const skills = trusted(user(root));

  test('GB-19 the manifest of the seed\u2019s 7.1, by mode, with the caller\u2019s native tools', async () => {
    const nativeTools = [{ name: 'typer', description: 'Type text at cursor' }];
    const { text: out } = await buildCatalog({ skills }, { format: 'gibberish', mode: 'Dev', nativeTools });
    expect(out).toBe(`You are a model that can do function calling with the following functions:

[Native Tools]
- typer: Type text at cursor

[Skills]
- deploy: Ship it.
- git_log: Show commits.
- git__show: Show it.
- other__show: Show another.
`);
    const { text: global } = await buildCatalog({ skills }, { format: 'gibberish' });
    expect(global).not.toContain('deploy');
    expect(global).not.toContain('[Native Tools]');
  });

  test('GB-19/GB-20 each tool with its JSON Schema and its policy entry', async () => {
    const { tools } = await buildCatalog({ skills }, { format: 'gibberish', mode: 'Dev' });
    expect(tools.map(({ policy }) => policy)).toEqual([
      { name: 'deploy', read_only: false, always_ask: true, source: { skill: 'dev' } },
      { name: 'git_log', read_only: true, always_ask: false, source: { skill: 'git' } },
      { name: 'git__show', read_only: true, always_ask: false, source: { skill: 'git' } },
      { name: 'other__show', read_only: false, always_ask: false, source: { skill: 'other' } },
    ]);
    expect(tools[0]?.schema).toMatchObject({
      type: 'object',
      properties: { count: { type: 'integer', default: 10 } },
      required: [],
      additionalProperties: false,
    });
    expect(tools.map(({ tool, skill }) => `${skill} ${tool}`)).toEqual([
      'dev deploy',
      'git git_log',
      'git show',
      'other show',
    ]);
  });

  test('GB-19 as functions: one for each tool, under a name that every client takes', async () => {
    const functions = JSON.parse(await text(skills, 'anthropic')) as { name: string }[];
    expect(functions.map(({ name }) => name)).toEqual(['activate_skill', 'git_log', 'git__show', 'other__show']);
    const name = 'a'.repeat(60);
    const far = skillsIn({
      [name]: gibberish(name, '', TOOL('show', 'S.')),
      b: gibberish('b', '', TOOL('show', 'S.')),
    });
    const { tools } = await buildCatalog({ skills: trusted(user(far)) }, { format: 'openai' });
    for (const tool of tools) expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(new Set(tools.map(tool => tool.name)).size).toBe(2);
  });
});
