import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

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
const cwd = writeFiles(tempDirectory(), {
  'git/SKILL.md': `---\nname: git\nversion: 1.0.0\ndescription: Git.\nread_only: true\nmine: {a: 1}\n---\n\n${TOOL}`,
  'word-count/SKILL.md':
    '---\nname: word-count\nversion: 1.2.0\ndescription: Counts.\nlang: bash\ntimeout: 90s\nresources: {memory: 1Gi}\n---\n\nRun.\n',
  'word-count/scripts/main.sh*': '#!/bin/sh\necho\n',
  ...Object.fromEntries(
    Array.from({ length: 25 }, (_, index) => [`word-count/references/${index}.md`, 'x'.repeat(1024)]),
  ),
  'weather/skill.yaml':
    'name: weather\ndescription: Weather.\nemoji: "*"\nalways: true\nos: [linux]\ncapabilities: [custom/key]\ncontainer_cpu: "1.5"\n',
  'weather/SKILL.md': '# Weather\n',
  'wrong-name/SKILL.md':
    '---\nname: right-name\ndescription: Reads.\nlicense: MIT\nmetadata: {author: me, version: "2.0"}\nallowed-tools: Bash(git:*) Read\n---\n\nRead.\n',
  'evil/SKILL.md':
    '---\nname: evil\ndescription: "a\\u001b[2Jb"\nmetadata: {"k\\u202e": "v\\u001b[0m"}\n---\n\nRead.\n',
  'broken/SKILL.md': '---\nname: broken\n---\n\nRead.\n',
  'empty/README.md': 'nothing',
});
const show = (...words: string[]) => run(['skill', 'show', ...words], { cwd });
const json = async (...words: string[]) => JSON.parse((await show(...words, '--json')).out);

describe('skill show', () => {
  test('GB-19 tools with their JSON Schema and a preview of the command', async () => {
    const { code, out } = await show('git');
    expect(code).toBe(0);
    expect(out).toMatch(/^git 1\.0\.0\n {2}Git\.\n/);
    expect(out).toContain('dialect  gibberish (frontmatter has "read_only")\n');
    expect(out).toMatch(/digest {3}sb1-sha256:[0-9a-f]{64}\n/);
    expect(out).toContain('  show_log  Shows the log.\n    $ git log -n <count>\n    schema {"$schema"');
    expect(out).toContain('read only  says that it changes nothing');
    expect(out).toContain('other fields\n  mine  {"a":1}\n');
    expect(out).toMatch(/\n1 warning\n$/);
  });

  test('X-09 needs in units, and a list of resources that ends somewhere', async () => {
    const { out } = await show('word-count');
    expect(out).toMatch(/runs +scripts\/main\.sh \(bash\)/);
    expect(out).toMatch(/image +bash:5\n +time +90s\n/);
    expect(out).toMatch(/memory +1 GiB\n +cpu +0\.5\n/);
    expect(out).toMatch(/scripts\n {2}scripts\/main\.sh {2}bash, 15 B\n/);
    expect(out.match(/references\/\d+\.md/g)).toHaveLength(20);
    expect(out).toMatch(/… +5 more, 5 KiB\n/);
  });

  test('SK-03 SK-13 what a seksbot skill needs and to whom it is offered', async () => {
    const { out } = await show('weather');
    expect(out).toMatch(/^\* weather\n/);
    expect(out).toMatch(/network +the secrets broker, nothing else\n +secrets +custom\/key\n +time +5m\n +cpu +1\.5\n/);
    expect(out).toMatch(/systems +linux\n +always +in every catalog\n/);
  });

  test('X-06 reads as a run would: findings are shown and counted, and do not fail', async () => {
    const { code, out } = await show('wrong-name');
    expect(code).toBe(0);
    expect(out).toContain('warning the name is "right-name", the folder\'s is "wrong-name" [name-folder-mismatch]');
    expect(out).toMatch(/allowed tools +Bash\(git:\*\) Read\n/);
    expect(out).toMatch(/author +me\n +license +MIT\n/);
    expect(out).toMatch(/\n1 warning\n$/);
  });

  test('X-02 a skill that does not load shows why, with exit 3', async () => {
    for (const path of ['broken', 'empty']) {
      const { code, out } = await show(path);
      expect([code, out]).toEqual([3, expect.stringContaining('not a skill that can be loaded')]);
      expect(out).toMatch(/error .*\[(?:description-missing|skill-md-missing)\]/);
      expect(await json(path)).toMatchObject({ skill: null, tools: [], diagnostics: [{ severity: 'error' }] });
    }
  });

  test('X-02 nothing in a skill moves the cursor', async () => {
    const { out } = await show('evil');
    expect(out).not.toMatch(/[\u001b\u202e]/);
    expect(out).toContain('a<U+001B>[2Jb');
    expect(out).toContain('k<U+202E>  v<U+001B>[0m');
  });

  test('--json prints one document with everything', async () => {
    const shown = await json('git');
    expect(shown).toMatchObject({
      path: 'git',
      dialect: 'gibberish',
      evidence: 'frontmatter has "read_only"',
      digest: expect.stringMatching(/^sb1-sha256:/),
      skill: { name: 'git', version: '1.0.0', needs: { readOnly: true }, extra: { mine: { a: 1 } } },
      tools: [
        {
          name: 'show_log',
          template: 'git log -n {{count}}',
          preview: 'git log -n <count>',
          schema: { type: 'object' },
        },
      ],
      diagnostics: [{ code: 'gibberish-field-unknown', severity: 'warning', file: 'SKILL.md', line: 6 }],
    });
    expect(shown.skill).not.toHaveProperty('tools');
  });

  test('--dialect reads as asked, a zip as a folder', async () => {
    expect(await json('git', '--dialect', 'agent-skills')).toMatchObject({
      dialect: 'agent-skills',
      evidence: 'asked for by name',
      tools: [],
    });
    await run(['skill', 'package', 'word-count', '-o', 'w.zip'], { cwd });
    const [zip, folder] = [await json('w.zip'), await json(join(cwd, 'word-count'))];
    expect([zip.digest, zip.skill]).toEqual([folder.digest, folder.skill]);
    expect((await show('w.zip')).out).toMatch(/carrier +zip\n/);
  });

  test('a path that is not there is exit 5', async () => {
    expect(await show('nothing')).toMatchObject({ code: 5, out: '' });
    expect(await json('nothing')).toMatchObject({ error: 'NOT_FOUND' });
  });
});
