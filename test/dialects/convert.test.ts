import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { type Conversion, convertSkill } from '../../src/dialects/convert.ts';
import { type Call, invokeSkill, readSkill } from '../../src/dialects/index.ts';
import { type DialectName, type Folder, openDirectory, type Skill } from '../../src/skill/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const root = tempDirectory();
let count = 0;

type Files = Record<string, string>;

function plant(files: Files): Folder {
  return openDirectory(writeFiles(join(root, String(count++), 'demo'), files));
}

function load(folder: Folder, dialect: DialectName | null = null): Skill {
  const { skill } = readSkill(folder, { mode: 'lenient', dialect });
  if (skill === null) throw new Error('the skill does not load');
  return skill;
}

function convert(files: Files, to: DialectName): Conversion {
  const folder = plant(files);
  return convertSkill(load(folder), folder, to);
}

/** The result on disk, as a new source. */
function write(conversion: Conversion, source: Files): Folder {
  return plant(
    Object.fromEntries(
      conversion.files.map(file => [
        file.executable ? `${file.path}*` : file.path,
        file.source === 'text' ? file.text : (source[file.from] ?? source[`${file.from}*`] ?? ''),
      ]),
    ),
  );
}

function textOf(conversion: Conversion, path: string): string {
  const file = conversion.files.find(found => found.path === path);
  if (file?.source !== 'text') throw new Error(`${path} was not written`);
  return file.text;
}

const lossOf = ({ losses }: Conversion, field: string) => losses.find(loss => loss.field === field);
const document = (fields: string, body = '# Demo\n\nRead.\n'): string =>
  `---\nname: demo\ndescription: Shows.\n${fields}---\n\n${body}`;

const SKILLBOX: Files = {
  'SKILL.md': document('version: 1.10.0\nlang: bash\ntimeout: 90s\nresources:\n  memory: 1Gi\n'),
  'scripts/main.sh*': '#!/bin/sh\necho hi\n',
};
const TOOL = `### show_log

Shows the log.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| count | integer | no | How many (default: 10) |

#### Command

\`\`\`bash
git log -n {{count}}
\`\`\`
`;
const GIBBERISH: Files = {
  'SKILL.md': document('version: 1.0.0\nalways_ask: true\nnetwork: true\ntimeout: 20\nmodes: [Dev]\n', TOOL),
};

describe('X-12 the version', () => {
  test('stands in metadata for agent-skills and at the top elsewhere, always as text', () => {
    const files = { 'SKILL.md': document('metadata:\n  version: "1.10"\n') };
    expect(convert(SKILLBOX, 'agent-skills').skill).toMatchObject({
      version: '1.10.0',
      about: { metadata: { version: '1.10.0' } },
    });
    for (const to of ['skillbox', 'gibberish'] as const) {
      const conversion = convert(files, to);
      expect([conversion.skill.version, lossOf(conversion, 'version')]).toEqual(['1.10', undefined]);
      expect(textOf(conversion, 'SKILL.md')).toContain('version: "1.10"\n');
    }
  });

  test('is 0.0.0 where one is demanded and none is there, and the report says so', () => {
    const conversion = convert({ 'SKILL.md': document('') }, 'skillbox');
    expect(conversion.skill.version).toBe('0.0.0');
    expect(lossOf(conversion, 'version')).toMatchObject({ value: null, why: expect.stringContaining('0.0.0') });
  });

  test('comes back from where a dialect without one kept it', () => {
    for (const to of ['seksbot', 'workspace'] as const) {
      const there = convert(SKILLBOX, to);
      expect(there.skill.version).toBeNull();
      expect(lossOf(there, 'version')?.kept).toBe(to === 'seksbot' ? 'extra.metadata.version' : 'extra.extra.version');
      const folder = write(there, SKILLBOX);
      expect(convertSkill(load(folder), folder, 'skillbox').skill.version).toBe('1.10.0');
    }
  });
});

describe('X-07 unknown fields', () => {
  const files = {
    'SKILL.md': document('metadata:\n  owner: me\nhomepage: https://example.org\nmine:\n  - 1\n  - two: [3]\n'),
  };

  test.each(['skillbox', 'workspace', 'gibberish', 'seksbot'] as const)('survive in %s', to => {
    expect(convert(files, to).skill.extra).toMatchObject({ homepage: 'https://example.org', mine: [1, { two: [3] }] });
  });

  test('metadata becomes an unknown field, and metadata again on the way back', () => {
    for (const to of ['skillbox', 'workspace', 'seksbot'] as const) {
      const there = convert(files, to);
      expect(lossOf(there, 'about.metadata.owner')?.kept).toMatch(/^extra\.(?:metadata|extra)\.owner$/);
      const folder = write(there, files);
      expect(convertSkill(load(folder), folder, 'agent-skills').skill.about.metadata.owner).toBe('me');
    }
  });

  test('that another dialect understands become its fields: they describe and grant nothing', () => {
    const source = { 'SKILL.md': document('version: 1.0.0\nlicense: MIT\ntags: [a, b]\n', TOOL) };
    const conversion = convert(source, 'workspace');
    expect(conversion.skill).toMatchObject({ about: { license: 'MIT', tags: ['a', 'b'] }, extra: {} });
    expect(lossOf(conversion, 'extra.license')?.kept).toBe('about.license');
  });
});

describe('X-11 nothing gains power', () => {
  const seksbot = (fields: string): Files => ({
    'skill.yaml': `name: demo\ndescription: Shows.\ncapabilities: []\ncontainer_network: none\n${fields}`,
    'SKILL.md': '# Demo\n',
  });

  test('an unknown field is not turned into one that grants', () => {
    const source = seksbot('read_only: true\nnetwork: true\nallowed-tools: Bash\nhooks: {Stop: [x]}\n');
    expect(convert(source, 'gibberish').skill.needs).toMatchObject({ readOnly: false, network: 'none' });
    const toAgent = convert(source, 'agent-skills');
    expect(toAgent.skill.needs.allowedTools).toEqual([]);
    expect(toAgent.skill.about.metadata).toMatchObject({ 'allowed-tools': 'Bash', hooks: { Stop: ['x'] } });
    expect(toAgent.skill.extra).not.toHaveProperty('hooks');
    expect(lossOf(toAgent, 'extra.hooks')?.why).toContain('clients would act on it');
  });

  test('AS-07 a tool whose name holds a space stays one tool', () => {
    const source = { 'SKILL.md': document('allowed-tools: [Some Tool, "Bash(git add:*)"]\n') };
    const conversion = convert(source, 'agent-skills');
    expect(conversion.skill.needs.allowedTools).toEqual(load(plant(source)).needs.allowedTools);
    expect(conversion.losses).toEqual([]);
  });

  test('a restriction is taken over', () => {
    const hidden = convert({ 'SKILL.md': document('disable-model-invocation: true\n') }, 'seksbot');
    expect(lossOf(hidden, 'offer.toModels')?.kept).toBe('extra.disable-model-invocation');
    expect(hidden.losses.map(loss => loss.field)).toEqual(['offer.toModels']);
    const conversion = convert(seksbot('disable-model-invocation: true\nuser-invocable: false\n'), 'skillbox');
    expect(conversion.skill.offer).toMatchObject({ toModels: false, toUsers: false });
  });

  test('a network that the target has no word for becomes none', () => {
    const conversion = convert(GIBBERISH, 'seksbot');
    expect(conversion.skill.needs.network).toBe('none');
    expect(lossOf(conversion, 'needs.network')).toMatchObject({
      value: 'open',
      why: expect.stringContaining('no network'),
    });
  });

  test('a lost demand to be asked is named with what that means', () => {
    for (const to of ['agent-skills', 'skillbox', 'workspace', 'seksbot'] as const) {
      const loss = lossOf(convert(GIBBERISH, to), 'needs.alwaysAsk');
      expect(loss).toMatchObject({ value: true, why: expect.stringContaining('up to policy') });
    }
  });

  test('limits only shrink', () => {
    const source = seksbot('container_timeout: 1h\ncontainer_memory: 1500000\n');
    expect(convert(source, 'gibberish').skill.needs.limits.timeoutMs).toBe(300_000);
    expect(convert(source, 'skillbox').skill.needs.limits).toMatchObject({
      timeoutMs: 600_000,
      memoryBytes: 1_500_000,
    });
    const toSkillbox = convert(source, 'skillbox');
    expect(lossOf(toSkillbox, 'needs.limits.timeoutMs')?.why).toContain('10m');
    expect(textOf(toSkillbox, 'SKILL.md')).toContain('timeout: 600s\n');
    expect(convert(seksbot('container_timeout: 1500ms\n'), 'gibberish').skill.needs.limits.timeoutMs).toBe(1000);
  });
});

describe('GB-04 tools', () => {
  test.each(['agent-skills', 'skillbox', 'workspace'] as const)('stay in the text of %s as commands to read', to => {
    const conversion = convert(GIBBERISH, to);
    expect(conversion.skill.tools).toEqual([]);
    expect(conversion.skill.instructions).toContain('**Command**\n\n```bash\ngit log -n {{count}}\n```');
    expect(conversion.skill.instructions).toContain('**Parameters**\n\n| Name |');
    expect(conversion.skill.instructions).toContain('in place of each `{{name}}`');
    expect(lossOf(conversion, 'tools.show_log')?.value).toMatchObject({ template: 'git log -n {{count}}' });
  });

  test('a table right under its heading stays a table', () => {
    const tight = TOOL.replaceAll(/(#### \w+)\n\n/g, '$1\n').replaceAll('\n', '\r\n');
    const { instructions } = convert({ 'SKILL.md': document('version: 1.0.0\n', tight) }, 'agent-skills').skill;
    expect(instructions).toContain('**Parameters**\r\n\r\n| Name');
  });

  test('seksbot keeps the text as it was, so the tools come back from it', () => {
    const there = convert(GIBBERISH, 'seksbot');
    expect([there.skill.instructions, there.skill.tools]).toEqual([TOOL, []]);
    const folder = write(there, GIBBERISH);
    const back = convertSkill(load(folder), folder, 'gibberish');
    expect([back.skill.instructions, back.skill.tools.map(tool => tool.name)]).toEqual([TOOL, ['show_log']]);
    expect(lossOf(back, 'tools.show_log')?.value).toBeNull();
  });

  test('a text whose sections are no tools does not stand in the way of those made from scripts', () => {
    const manifest = 'name: demo\ndescription: Shows.\ncapabilities: []\n';
    const source = { 'skill.yaml': manifest, 'SKILL.md': `${TOOL}\n${TOOL}`, 'index.js*': '#!/usr/bin/env node\n' };
    const conversion = convert(source, 'gibberish');
    expect(conversion.skill.tools.map(tool => tool.template)).toEqual(['./index.js {{arguments}}']);
    expect(conversion.skill.instructions).toContain('**Command**');
  });
});

describe('GB-10 scripts become tools', () => {
  const source: Files = {
    'SKILL.md': document('', 'Do it.\n\n```\nunclosed\n'),
    'scripts/count.sh*': '#!/bin/sh\nprintf "%s." "$@"\n',
    'scripts/plain.sh': '#!/bin/sh\nprintf "%s." "$@"\n',
    'scripts/silent.sh*': 'printf "%s." "$@"\n',
    'scripts/_lib.py': '',
    'scripts/two words.py': '',
    'references/a.md': 'text',
  };
  const conversion = convert(source, 'gibberish');

  test('one each, but not for what is imported or cannot be named', () => {
    expect(conversion.skill.tools.map(tool => tool.name)).toEqual(['count', 'plain', 'silent']);
    expect(conversion.losses.map(loss => loss.field)).toEqual([
      'version',
      'instructions',
      'tools.count',
      'tools.plain',
      'tools.silent',
      'scripts.scripts/tool-plain.sh',
      'scripts.scripts/tool-silent.sh',
    ]);
    expect(conversion.skill.instructions).toMatch(/## Instructions\n\nDo it\.\n\n```\nunclosed\n$/);
  });

  test('their arguments arrive one by one', () => {
    const call: Call = {
      target: { kind: 'tool', name: 'count', arguments: { arguments: ['a', 'b c'] } },
      input: null,
      stdin: null,
      mode: 'Global',
      callerEnv: {},
    };
    expect(invokeSkill(conversion.skill, call).argv).toEqual(['/skill/scripts/count.sh', 'a', 'b c']);
  });

  test('what cannot start by itself gets a launcher that starts it, and stays as it is', () => {
    const folder = write(conversion, source);
    for (const name of ['plain', 'silent']) {
      const launched = spawnSync(join(folder.origin.path, `scripts/tool-${name}.sh`), ['a', 'b c'], {
        encoding: 'utf8',
      });
      expect(launched.stdout).toBe('a.b c.');
    }
    const modes = ['plain', 'silent', 'tool-plain'].map(name => folder.file(`scripts/${name}.sh`)?.executable);
    expect(modes).toEqual([false, true, true]);
  });

  test('a skill with nothing to run gets one tool that prints its instructions', () => {
    const files = { 'SKILL.md': document('') };
    const only = convert(files, 'gibberish');
    expect(only.skill.tools.map(tool => tool.template)).toEqual(['./scripts/tool-instructions.sh']);
    const folder = write(only, files);
    const launched = spawnSync(join(folder.origin.path, 'scripts/tool-instructions.sh'), { encoding: 'utf8' });
    expect(launched.stdout).toContain('# Demo\n\nRead.\n');
  });
});

describe('the loss report', () => {
  test('names each field with its value, its reason and where it is still written down', () => {
    const { losses } = convert(SKILLBOX, 'agent-skills');
    expect(losses.map(({ field, value, kept }) => [field, value, kept])).toEqual([
      ['main', { path: 'scripts/main.sh', language: 'bash' }, null],
      ['needs.image', 'bash:5', 'about.metadata.image'],
      ['needs.limits.timeoutMs', 90_000, 'about.metadata.timeout'],
      ['needs.limits.cpus', 0.5, 'about.metadata.cpu'],
      ['needs.limits.memoryBytes', 1024 ** 3, 'about.metadata.memory'],
    ]);
    expect(losses.every(({ why }) => why.startsWith('agent-skills'))).toBe(true);
  });

  test('names a field that had to make room for another', () => {
    const fields = 'version: 1.0.0\nlang: bash\nmetadata:\n  version: mine\n';
    const { losses, skill } = convert({ ...SKILLBOX, 'SKILL.md': document(fields) }, 'seksbot');
    expect(losses.map(({ field, value, kept }) => [field, value, kept])).toEqual([
      ['version', '1.0.0', 'extra.metadata.version'],
      ['extra.metadata.version', 'mine', 'extra.metadata.version-2'],
    ]);
    expect(skill.extra.metadata).toEqual({ version: '1.0.0', 'version-2': 'mine' });
  });

  test('does not name what only looks different: tags with commas in them, a list or a text', () => {
    const source = { 'SKILL.md': document('author: me\ntags: ["a, b", c]\n'), 'scripts/main.py': '' };
    const conversion = convert(source, 'skillbox');
    expect([conversion.skill.about.tags, lossOf(conversion, 'about.tags')]).toEqual([['a, b', 'c'], undefined]);
  });

  test('names what the target puts in', () => {
    const { losses } = convert(
      { 'SKILL.md': document('metadata:\n  version: 1.0.0\n'), 'scripts/main.py': '' },
      'skillbox',
    );
    expect(losses.map(({ field, value }) => [field, value])).toEqual([
      ['main', null],
      ['needs.image', null],
      ['needs.limits.memoryBytes', null],
      ['needs.limits.cpus', null],
    ]);
  });

  test('names a description that had to be cut, whole', () => {
    const long = 'word '.repeat(60).trim();
    const files = { 'SKILL.md': document('').replace('Shows.', long) };
    for (const [to, max] of [
      ['seksbot', 200],
      ['gibberish', 256],
    ] as const) {
      const conversion = convert(files, to);
      expect(lossOf(conversion, 'description')?.value).toBe(long);
      expect(conversion.skill.description.length).toBeLessThanOrEqual(max);
      expect(conversion.skill.description).toMatch(/^(?:word )+word…$/);
    }
    expect(convert(files, 'workspace').skill.description).toBe(long);
  });

  test('names comments, and fields of SKILL.md that seksbot never read', () => {
    const commented = convert(
      { 'SKILL.md': document('license: MIT # as agreed\n# why: because\nx: "# no"\n') },
      'workspace',
    );
    expect(lossOf(commented, 'comments')?.value).toEqual(['as agreed', 'why: because']);
    const manifest = {
      'skill.json': '{"name":"demo","description":"Shows.","capabilities":[]}',
      'SKILL.md': document('license: MIT\n'),
    };
    expect(lossOf(convert(manifest, 'agent-skills'), 'frontmatter')?.value).toEqual(['name', 'description', 'license']);
  });

  test('names a resource that skillbox has no word for', () => {
    const source = { ...SKILLBOX, 'SKILL.md': document('version: 1.0.0\nlang: bash\nresources: {cpu: 1, gpu: 2}\n') };
    expect(lossOf(convert(source, 'seksbot'), 'frontmatter.resources.gpu')?.value).toBe(2);
  });

  test('is empty where nothing is lost', () => {
    expect(
      convert({ 'SKILL.md': document('license: MIT\nmetadata:\n  version: 1.0.0\n') }, 'workspace').losses,
    ).toEqual([]);
  });
});

describe('files', () => {
  test('are copied as they are, with their executable bits', () => {
    const { files } = convert(SKILLBOX, 'workspace');
    expect(files.filter(file => file.source === 'copy')).toEqual([
      { path: 'scripts/main.sh', executable: true, source: 'copy', from: 'scripts/main.sh' },
    ]);
  });

  test('SK-01 a second manifest would decide how the result is read: it is left out and named', () => {
    const source = {
      'skill.yaml': 'name: demo\ndescription: Shows.\ncapabilities: []\nskillMdPath: docs/how.md\n',
      'skill.json': '{}',
      'docs/how.md': '# How\n',
      'SKILL.md': 'not the instructions\n',
    };
    const conversion = convert(source, 'agent-skills');
    expect(conversion.skill.instructions).toBe('# How\n');
    expect(conversion.files.map(file => file.path)).toEqual(['SKILL.md']);
    expect(lossOf(conversion, 'resources.skill.json')?.why).toContain('read as something else');
    expect(lossOf(conversion, 'resources.SKILL.md')).toBeDefined();
  });

  test('SK-01 instructions that look like frontmatter are still instructions', () => {
    const body = 'A skill starts so:\n\n---\nname: other\ndescription: y\n---\n\nAnd goes on.\n';
    expect(convert({ 'SKILL.md': document('', body) }, 'seksbot').skill.instructions).toBe(body);
  });

  test('a result that would not load is refused with the reason', () => {
    const list = JSON.stringify(Array.from({ length: 6000 }, (_, index) => index));
    const source = { 'SKILL.md': document(`many: ${list}\nmore: ${list}\n`) };
    expect(() => convert(source, 'skillbox')).toThrow(SkillboxError);
    expect(() => convert(source, 'skillbox')).toThrow(/cannot be written as skillbox: the frontmatter has \d+ bytes/);
  });
});
