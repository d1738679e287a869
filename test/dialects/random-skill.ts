import fc from 'fast-check';
import type { JsonValue } from '../../src/base/index.ts';
import { DIALECTS, type DialectName } from '../../src/skill/index.ts';

/** Skills as their authors might write them: fields, body and files, in each dialect, some of them odd on purpose. */
export type RandomSkill = {
  dialect: DialectName;
  fields: Record<string, JsonValue>;
  body: string;
  files: Record<string, { text: string; executable: boolean }>;
};

// Each of these is something else to a careless YAML writer.
const ODD_WORDS = 'yes no null ~ true 1.10 1.0 0x10 1e3 .inf 2024-01-01 12:30:45 - --- ... a,b , ключ 🙂 __proto_';
const ODD_LINES =
  'a: b|a # b|# c|[x] y|{a: b}|{{name}}|*star|&and|!tag|%percent|@at|`tick`|> fold|? q|it\'s|"quoted"|\\n';
const ODD_SPACE = [
  ' lead',
  'trail ',
  '| bar',
  'two\nlines',
  'three\n\n  lines\n',
  'tab\there',
  'c\r\nd',
  'x'.repeat(300),
];
const ODD_CHARACTERS = ['\u2028', '\u0085', '\u007f', '\u0001', '\ufeff'];
const ODD_TEXTS = [ODD_WORDS.split(' '), ODD_LINES.split('|'), ODD_SPACE, ODD_CHARACTERS].flat();
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ODD_TEXTS) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 10 }) },
);
const words = fc.stringMatching(/^[A-Za-z][a-z]{0,8}( [a-z]{1,8}){0,5}$/);

// Names that mean something in one dialect or another, and names that mean nothing anywhere.
const EXTRA_KEYS = [
  'homepage hooks model x-own a.b 1 toString n extra metadata version license author tags compatibility emoji',
  'allowed-tools network timeout read_only always_ask modes lang image resources capabilities container_image',
  'container_network os always disable-model-invocation user-invocable skillMdPath constructor-of',
].flatMap(keys => keys.split(' '));
const { value } = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom(...EXTRA_KEYS)), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const extra = fc.dictionary(fc.constantFrom('two words', ...EXTRA_KEYS), value, { maxKeys: 4, noNullPrototype: true });
const mapping = fc.dictionary(fc.oneof(fc.constantFrom(...EXTRA_KEYS), text), value, {
  maxKeys: 4,
  noNullPrototype: true,
});

const description = fc.oneof(words, text, fc.constant('word '.repeat(80).trim()));
const version = fc.constantFrom('1.0.0', '1.10', '2.3.4-beta.1', '0.0.1');
const duration = fc.constantFrom('60s', '2m', '90', '1500ms', '1h', '10m', '299s');
const tags = fc.oneof(fc.constantFrom('a, b', 'data', '1.0, yes'), fc.array(text, { maxLength: 3 }));
const flag = fc.boolean();

/** Every key may be missing; `required` ones are always there. */
function record(required: Record<string, fc.Arbitrary<JsonValue>>, optional: Record<string, fc.Arbitrary<JsonValue>>) {
  const all: Record<string, fc.Arbitrary<JsonValue>> = { name: fc.constant('demo'), description, ...required };
  const some = fc.record(optional, { requiredKeys: [], noNullPrototype: true });
  return fc.tuple(fc.record(all), some).map(([there, perhaps]): Record<string, JsonValue> => {
    const given = Object.entries(perhaps).flatMap(([key, field]): [string, JsonValue][] =>
      field === undefined ? [] : [[key, field]],
    );
    return { ...there, ...Object.fromEntries(given) };
  });
}

const offer = { 'disable-model-invocation': flag, 'user-invocable': flag };
const FIELDS: Record<DialectName, fc.Arbitrary<Record<string, JsonValue>>> = {
  'agent-skills': record(
    {},
    {
      license: text,
      compatibility: text,
      metadata: mapping,
      'allowed-tools': fc.constantFrom<JsonValue>('Read Bash(git:*)', 'Bash(git add:*), Read', [
        'Bash(a (b) c)',
        'Edit',
      ]),
      ...offer,
    },
  ),
  skillbox: record(
    { version },
    {
      lang: fc.constantFrom('python', 'node', 'bash'),
      image: fc.constantFrom('python:3.12-slim', 'bash:5', 'mine:1'),
      timeout: duration,
      resources: fc.constantFrom<JsonValue>({ cpu: '0.5' }, { cpu: 2, memory: '1Gi' }, { memory: '1234567' }),
      license: text,
      author: text,
      tags,
      ...offer,
    },
  ),
  workspace: record({}, { license: text, version, author: text, tags, ...offer }),
  gibberish: record(
    { version },
    {
      author: text,
      modes: fc.constantFrom<JsonValue>(['Dev'], ['Global', 'Meeting'], 'Dev', []),
      read_only: flag,
      always_ask: flag,
      timeout: fc.integer({ min: 1, max: 400 }),
      network: flag,
      'disable-model-invocation': flag,
    },
  ),
  seksbot: record(
    { capabilities: fc.constantFrom<JsonValue>([], ['custom/key'], ['anthropic/messages.create', 'openai/*']) },
    {
      version: fc.constant(1),
      emoji: fc.constantFrom('🌤', ':)'),
      author: text,
      always: flag,
      os: fc.constantFrom<JsonValue>(['linux'], 'darwin linux', []),
      container_image: fc.constantFrom('runner:1', 'node:20-slim'),
      container_timeout: duration,
      container_network: fc.constantFrom('broker-only', 'none'),
      container_memory: fc.constantFrom('512m', '300000'),
      container_cpu: fc.constantFrom('1.0', '250m'),
    },
  ),
};

const FRAGMENTS = [
  ['# Title', '## Use', '### part', '#### Command', '#### Parameters', 'Some text.', '```', '---', '> quote', '  ', ''],
  ['```bash\ngit status\n```', '````\n#### Command\n````', '    indented', '- list\n  - inner', '<!-- open', 'a\r\nb'],
  ['| a | b |\n|---|---|\n| 1 | 2 |', '[link](references/a.md)', 'name: other', 'description: x', '{{value}}'],
  ['### odd_tool\n\nDoes.\n\n#### Command\n\n```\nls\n```', '---\nname: inner\ndescription: y\n---'],
].flat();
const fragments = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 6 }).map(parts => parts.join('\n\n'));
const TOOL = `### show_log

Shows the log.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| count | integer | no | How many (default: 10) |
| paths | array | no | Which files |

#### Command

\`\`\`bash
git log -n {{count}} -- {{paths}}
\`\`\`
`;
const gibberishBody = fragments.map(rest => `${TOOL}\n## More\n\n${rest}`);

const FILES = [
  'scripts/main.py scripts/main.js scripts/run.py main.sh index.js scripts/tool.ts scripts/_lib.py scripts/UPPER.SH',
  'scripts/deep/x.sh scripts/notes.txt scripts/tool-main.sh package.json references/a.md assets/logo.bin',
  'examples/one.md inner/SKILL.md skill.json README.md docs/HOW.md',
].flatMap(paths => paths.split(' '));
const content = fc.record({
  text: fc.constantFrom('#!/bin/sh\necho\n', 'print(1)\n', '', '{}', '\u0000\u0001'),
  executable: fc.boolean(),
});
const files = fc.dictionary(fc.constantFrom('scripts/a b.py', ...FILES), content, {
  maxKeys: 5,
  noNullPrototype: true,
});

export const randomSkill: fc.Arbitrary<RandomSkill> = fc.constantFrom(...DIALECTS).chain(dialect =>
  fc.record({
    dialect: fc.constant(dialect),
    fields: fc.tuple(extra, FIELDS[dialect]).map(([unknown, known]) => ({ ...unknown, ...known })),
    body: dialect === 'gibberish' ? gibberishBody : fragments,
    files,
  }),
);

/** The files of the skill; JSON is YAML, so no writer of ours is needed to write it. */
export function sourceFiles({ dialect, fields, body, files: others }: RandomSkill): Record<string, string> {
  const lines = Object.entries(fields).map(([key, field]) => `${JSON.stringify(key)}: ${JSON.stringify(field)}\n`);
  const bundled = Object.entries(others).map(([path, { text: held, executable }]): [string, string] => [
    executable ? `${path}*` : path,
    held,
  ]);
  const definition: Record<string, string> =
    dialect === 'seksbot'
      ? { 'skill.yaml': lines.join(''), 'SKILL.md': body }
      : { 'SKILL.md': `---\n${lines.join('')}---\n\n${body}` };
  return { ...Object.fromEntries(bundled), ...definition };
}
