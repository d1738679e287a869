import { describe, expect, test } from 'vitest';
import { hasToolSection, readTools } from '../../../src/dialects/gibberish/tools.ts';
import { Findings } from '../../../src/skill/index.ts';
import { DEPLOY, GIT, SUMMARIZE } from './seed-examples.ts';
import { places, read, toolText } from './tool.ts';

describe("GB-04 the seed's complete examples", () => {
  test('8.1 git', () => {
    const { tools, fatal, found } = read(GIT, 8);
    expect([fatal, found]).toEqual([false, []]);
    expect(tools).toEqual([
      {
        name: 'git_status',
        description: 'Show the current git status with short format.',
        parameters: [],
        command: ['git', 'status', '--short', '--branch'].map(text => ({
          pieces: [{ kind: 'text', text }],
          quoted: false,
        })),
        template: 'git status --short --branch',
        line: 9,
      },
      expect.objectContaining({
        name: 'git_log',
        description: 'Show recent commit history.',
        parameters: [
          {
            name: 'count',
            type: 'integer',
            required: false,
            description: 'Number of commits (default: 10)',
            default: 10,
          },
        ],
        template: 'git log --oneline -n {{count}}',
        line: 23,
      }),
      expect.objectContaining({
        name: 'git_diff',
        parameters: [
          { name: 'staged', type: 'boolean', required: false, description: 'Show only staged changes', default: null },
        ],
        template: 'git diff {{staged:--staged}}',
        line: 39,
      }),
    ]);
  });

  test.each([
    ['8.2 summarize', SUMMARIZE, 'summarize_url', { name: 'url', type: 'string', required: true }],
    ['8.3 deploy', DEPLOY, 'deploy_preview', { name: 'message', type: 'string', required: false }],
  ])('%s', (_name, text, tool, parameter) => {
    const { tools, fatal, found } = read(text);
    expect(tools).toMatchObject([{ name: tool, parameters: [parameter] }]);
    expect([fatal, places(found)]).toEqual([false, [expect.stringContaining('template-dash')]]);
  });
});

describe('GB-04 sections', () => {
  test('headings inside fences, quotes and lists are no tools', () => {
    const inner = '### inner\n\n#### Command\n\n    x\n';
    const text = `${toolText('a')}\n## More\n\n~~~~md\n${inner}~~~~\n\n> ${inner.replaceAll('\n', '\n> ')}\n`;
    expect(read(text).tools.map(tool => tool.name)).toEqual(['try_it']);
    expect(hasToolSection(`~~~~md\n${inner}~~~~\n`)).toBe(false);
  });

  test('the description is the text before the first H4, as written', () => {
    const text =
      '### a\nFirst *line*.\n\n- item\n\n##### Note\n\nmore\n\n#### Other\n\nx\n\n#### Command\n```\na\n```\n';
    expect(read(text).tools[0]?.description).toBe('First *line*.\n\n- item\n\n##### Note\n\nmore');
  });

  test('marks around headings and names do not matter, nor the order, case or indentation of the sections', () => {
    const text = [
      '### `a` ###',
      '####  **COMMAND**',
      'Runs it:',
      '  ~~~sh',
      '  a -- {{x}}',
      '  ~~~',
      '#### parameters',
      '|Required|`Type`|**Name**|Description|',
      '|-|:-:|-|-|',
      '|Yes|`String`|`x`|A \\| B|',
      '---',
    ].join('\n');
    expect(read(text)).toMatchObject({
      tools: [{ name: 'a', template: 'a -- {{x}}', parameters: [{ name: 'x', required: true, description: 'A | B' }] }],
      found: [],
    });
  });

  test('a name that Markdown would take for emphasis is the name', () => {
    const text = toolText('a -- {{__x__}}', ['__x__ | string | yes | X'], '_run_');
    expect(read(text).tools).toMatchObject([{ name: '_run_', parameters: [{ name: '__x__' }] }]);
  });

  test('an H3 section without a command is no tool', () => {
    const { tools, fatal, found } = read(`### Notes\n\n\`\`\`\n#### Command\n\`\`\`\n\n${toolText('a')}`);
    expect([tools.length, fatal, places(found)]).toEqual([1, false, ['1:1 tool-no-command']]);
  });

  test.each(['git-status', 'GitStatus', 'a'.repeat(33), 'a b', ''])('the name %j is not offered', name => {
    const { tools, found } = read(`${toolText('a')}\n${toolText('a', [], name)}`, 10);
    expect([tools.map(tool => tool.name), places(found)]).toEqual([['try_it'], ['24:1 tool-name-invalid']]);
  });

  test('an invalid name comes with the name that was meant', () => {
    expect(read(toolText('a', [], 'Git-Status')).found[0]?.hint).toBe('Rename it to git_status.');
  });
});

describe('GB-16 what is fatal, and what is not', () => {
  test('no tool at all', () => {
    expect(read('# Title\n\ntext\n', 5)).toMatchObject({
      tools: [],
      fatal: true,
      found: [{ code: 'tool-none', line: 5 }],
    });
  });

  test('no tool that can be offered', () => {
    const { fatal, found } = read(toolText('{{x}}'));
    expect([fatal, places(found)]).toEqual([
      true,
      ['1:1 tool-none', '12:1 template-program', '12:1 template-undeclared'],
    ]);
  });

  test('two tools of one name, even when one of them is broken', () => {
    const { tools, fatal, found } = read(`${toolText('"')}\n${toolText('a')}`);
    expect([tools.length, fatal]).toEqual([1, true]);
    expect(found.find(finding => finding.code === 'tool-duplicate')).toMatchObject({
      line: 15,
      message: '"try_it" is already the tool of line 1',
    });
  });

  test('a tool without a parameters section is warned of and takes none', () => {
    const { tools, fatal, found } = read('### a\n\n#### Command\n\n```\na b\n```\n');
    expect([tools[0]?.parameters, fatal, places(found)]).toEqual([[], false, ['1:1 tool-no-parameters']]);
  });

  test('more lines than are read', () => {
    const { fatal, found } = read(`${toolText('a')}${'\n'.repeat(30_000)}`);
    expect([fatal, places(found)]).toEqual([true, ['1:1 skill-md-too-large']]);
  });
});

describe('GB-04 parameters', () => {
  const table = (...rows: string[]) => toolText('a -- {{x}}', rows);

  test.each([
    ['None.', true],
    ['none', true],
    ['`None`', true],
    ['No parameters', false],
    ['', false],
    ['- None.', true],
  ])('%j in place of a table', (text, offered) => {
    const { tools, found } = read(toolText('a').replace('None.', text));
    expect([tools.length === 1, found.some(finding => finding.code === 'parameter-invalid')]).toEqual([
      offered,
      !offered,
    ]);
  });

  test.each([
    ['a name', 'x y | string | no | X'],
    ['an empty name', ' | string | no | X'],
    ['a type', 'x | text | no | X'],
    ['required', 'x | string | maybe | X'],
    ['missing cells', 'x | string'],
    ['a name twice', 'x | string | no | X |\n| x | string | no | X'],
  ])('a row that cannot be read for its %s keeps the tool from being offered', (_what, row) => {
    const { tools, found } = read(table(row), 100);
    const line = row.includes('\n') ? 109 : 108;
    expect(tools).toEqual([]);
    expect(places(found).filter(place => !place.includes('tool-none'))).toEqual([`${line}:1 parameter-invalid`]);
  });

  test.each([
    ['no column', '| Name | Type |\n|---|---|\n| x | string |\n', '7:1'],
    ['two tables', '| Name | Type | Required |\n|-|-|-|\n| x | string | no |\n\n| a |\n|-|\n| b |\n', '5:1'],
  ])('%s', (_what, text, at) => {
    const { tools, found } = read(toolText('a -- {{x}}').replace('None.', text));
    expect([tools, places(found)]).toEqual([[], ['1:1 tool-none', `${at} parameter-invalid`]]);
  });

  test('the section twice', () => {
    const { found } = read(toolText('a').replace('None.', 'None.\n\n#### Parameters\n\nNone.'));
    expect(places(found)).toEqual(['1:1 tool-none', '9:1 parameter-invalid']);
  });

  test.each<[string, string, unknown]>([
    ['string', '(default: main)', 'main'],
    ['string', '(Default: "main")', 'main'],
    ['string', '(default: a, b)', 'a, b'],
    ['string', '(default: `-`)', '-'],
    ['string', '(default: )', null],
    ['string', 'default: x', null],
    ['integer', '(default: -5).', -5],
    ['number', '(max 3) (default: 0.5)', 0.5],
    ['boolean', '(default: false)', false],
    ['array', '(default: a)', ['a']],
    ['array', '(default: ["a"])', ['a']],
  ])('the default of a %s in %j', (type, description, expected) => {
    expect(read(table(`x | ${type} | no | X ${description}`)).tools[0]?.parameters[0]?.default).toEqual(expected);
  });

  test('GB-05 prose for a default is reported and ignored; a placeholder that brings one makes it prose', () => {
    const row = 'x | integer | no | Lines (default: all)';
    expect(read(table(row))).toMatchObject({
      tools: [{ parameters: [{ default: null }] }],
      found: [{ code: 'parameter-default-invalid', line: 9 }],
    });
    expect(read(toolText('head -n {{x:9999}}', [row]))).toMatchObject({
      tools: [{ parameters: [{ default: 9999 }] }],
      found: [],
    });
  });

  test('GB-06 defaults that are false or empty are defaults', () => {
    const tool = read(toolText('a {{n:0}} --s={{s}}', ['n | integer | no | N (default: 5)', 's | string | no | S']))
      .tools[0];
    expect(tool?.parameters.map(parameter => parameter.default)).toEqual([0, null]);
  });
});

describe('GB-04, GB-09 commands', () => {
  const section = (text: string) => toolText('a').replace(/```bash[\s\S]*/, text);

  test.each([
    ['no fence', 'a b\n'],
    ['indented code', '    a b\n'],
    ['two fences', '```\na\n```\n\n```\nb\n```\n'],
    ['a fence inside a list', '- ```\n  a\n  ```\n'],
  ])('%s', (_what, text) => {
    const { tools, found } = read(section(text));
    expect([tools, places(found)]).toEqual([[], ['1:1 tool-none', '9:1 tool-command-invalid']]);
  });

  test('the section twice', () => {
    const { tools, found } = read(`${toolText('a')}\n#### Command\n\n\`\`\`\nb\n\`\`\`\n`);
    expect([tools, places(found)]).toEqual([[], ['1:1 tool-none', '15:1 tool-command-invalid']]);
  });

  test('problems lie where they are written, in fences that are indented too', () => {
    const text = section('  ```\n  # what\n  a {{y}} | {{z-}} \\\n   {{x\n  ```\n');
    expect(places(read(text, 100).found)).toEqual([
      '100:1 tool-none',
      '112:5 template-undeclared',
      '112:11 template-shell',
      '112:13 template-undeclared',
      '113:4 template-placeholder',
    ]);
  });

  test.each([
    ['template-empty', '# nothing'],
    ['template-program', '{{x}} a'],
    ['template-quote', "a '{{x}}"],
    ['template-undeclared', 'a {{x}} {{y}}'],
    ['template-lines', 'a {{x}}\nb'],
    ['template-placeholder', 'a {{x}} {{ x }}'],
    ['template-placeholder', 'a x{{x:-x}}'],
  ])('%s keeps the tool from being offered', (code, command) => {
    const { tools, found } = read(toolText(command, ['x | string | yes | X']));
    expect(tools).toEqual([]);
    expect(found.map(finding => finding.code)).toContain(code);
  });

  test.each([
    ['template-shell', 'a | {{x}}', 'x | integer | yes | X'],
    ['template-flag-stays', 'a -f {{x}}', 'x | integer | no | X'],
    ['template-dash', 'a {{x}}', 'x | string | yes | X'],
    ['parameter-unused', 'a', 'x | string | yes | X'],
    ['hidden-text', 'a -- {{x}} \u202e', 'x | string | yes | X'],
    ['hidden-text', 'a -- {{x}}', 'x | string | yes | X\u200bY'],
  ])('%s does not', (code, command, row) => {
    const { tools, found } = read(toolText(command, [row]));
    expect([tools.length, found.map(finding => finding.code)]).toEqual([1, [code]]);
  });

  test('a command is reported on even where its parameters cannot be read', () => {
    const { found } = read(toolText('a "', ['x | y | z | w']));
    expect(found.map(finding => finding.code)).toEqual(['parameter-invalid', 'template-quote', 'tool-none']);
  });

  test('X-05 a lenient reader offers no more than a strict one', () => {
    const findings = new Findings('lenient');
    const text = `${toolText('a')}\n${toolText('{{x}}', [], 'b')}`;
    expect(readTools(text, 1, 'SKILL.md', findings)).toMatchObject({ tools: [{ name: 'try_it' }], fatal: false });
    expect(findings.list.map(finding => finding.severity)).toEqual(['warning', 'warning']);
  });

  test('hidden text in a description is found where it stands', () => {
    const { found } = read(toolText('a').replace('Tries it.', 'Tries\nit\u200b.'), 50);
    expect(places(found)).toEqual(['53:3 hidden-text']);
  });
});

describe('recogniser', () => {
  test.each([
    ['### a\n\n#### Command\n', true],
    ['### a\n\n####\tcommand ####\n', true],
    ['### a\r\n\r\n#### **Command**\r\n', true],
    ['## a\n\n#### Command\n', false],
    ['### a\n\n## b\n\n#### Command\n', false],
    ['### a\n\n#### Commands\n', false],
    ['### a\n\n##### Command\n', false],
    ['### a\n\n    #### Command\n', false],
    ['### a\n\n####Command\n', false],
    ['', false],
  ])('GB-04 %j', (text, expected) => {
    expect(hasToolSection(text)).toBe(expected);
  });
});

describe('hostile bodies', () => {
  test.each([
    ['tools', '### a\n\n#### Command\n\n```\nx\n```\n\n'],
    ['H3 headings', '### a\n'],
    ['H4 headings', '#### Command\n'],
    ['placeholders', '{{x '],
    ['rows', '| x | string | no | X |\n'],
  ])('GB-04 a megabyte of %s ends', (_name, text) => {
    const body = `${toolText('a').replace('None.', 'None.\n')}\n${text.repeat(Math.ceil(1024 ** 2 / text.length))}`;
    expect(hasToolSection(body)).toBe(true);
    expect(read(body).tools.length).toBeLessThan(20_000);
  });

  test('GB-09 a megabyte of command ends', () => {
    for (const part of ['{{x}} ', '{{y}} ', '{{{', '| ', "'' ", '\\\n', '$a']) {
      const command = `a ${part.repeat(Math.floor(1024 ** 2 / part.length))}`.slice(0, 18_000 * 50);
      expect(read(toolText(command, ['x | string | yes | X'])).found.length).toBeLessThan(60);
    }
  });
});
