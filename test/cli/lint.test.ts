import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { widthOf } from '../../src/cli/wrap.ts';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

type SarifPlace = { locations: { physicalLocation: { artifactLocation: { uri: string } } }[] };

const GOOD = '---\nname: good\ndescription: Does a thing. Use when asked.\n---\n\nDo it.\n';
const COLON = '---\nname: colon\ndescription: Use when: asked\n---\n\nDo it.\n';

describe('skill lint', () => {
  test('SB-12 a good skill is ok, exit 0', async () => {
    const cwd = writeFiles(tempDirectory(), { 'good/SKILL.md': GOOD });
    const { code, out } = await run(['skill', 'lint', 'good'], { cwd });
    expect(code).toBe(0);
    expect(out).toBe('✔ good (agent-skills good)\n1 skill: ok; nothing to report\n');
  });

  test('a finding shows place, line, caret and hint; exit 3', async () => {
    const cwd = writeFiles(tempDirectory(), { 'colon/SKILL.md': COLON });
    const { code, out } = await run(['skill', 'lint', 'colon'], { cwd });
    expect(code).toBe(3);
    expect(out).toContain(
      'error a colon in the unquoted value of `description: Use when: asked` [yaml-unquoted-colon]',
    );
    expect(out).toContain(
      'SKILL.md:3:14\n    3 | description: Use when: asked\n      |              ^\n    hint: Put the value in quotes.',
    );
    expect(out).toContain('1 skill: 1 failed; 1 error');
  });

  test('--json has the documented shape, digests included', async () => {
    const cwd = writeFiles(tempDirectory(), { 'a/good/SKILL.md': GOOD, 'a/colon/SKILL.md': COLON });
    const { code, out, err } = await run(['skill', 'lint', 'a', '--json'], { cwd });
    expect([code, err]).toEqual([3, '']);
    const result = JSON.parse(out);
    expect(result.summary).toEqual({ skills: 2, ok: 1, loads: 2, errors: 1, warnings: 0, infos: 0 });
    expect(result.skills[0]).toMatchObject({
      path: 'a/colon',
      dialect: 'agent-skills',
      name: 'colon',
      version: null,
      loads: true,
      ok: false,
    });
    expect(result.skills[0].digest).toMatch(/^sb1-sha256:[0-9a-f]{64}$/);
    expect(result.skills[0].diagnostics[0]).toEqual({
      code: 'yaml-unquoted-colon',
      severity: 'error',
      message: expect.any(String),
      file: 'SKILL.md',
      line: 3,
      column: 14,
      hint: expect.any(String),
      fixable: true,
    });
  });

  test('--sarif is SARIF 2.1.0 with rules and places', async () => {
    const cwd = writeFiles(tempDirectory(), { 'colon/SKILL.md': COLON });
    const { out } = await run(['skill', 'lint', 'colon', '--sarif'], { cwd });
    const sarif = JSON.parse(out);
    expect(sarif.version).toBe('2.1.0');
    expect(sarif.runs[0].tool.driver.rules[0].id).toBe('yaml-unquoted-colon');
    expect(sarif.runs[0].results[0]).toMatchObject({ ruleId: 'yaml-unquoted-colon', ruleIndex: 0, level: 'error' });
    expect(sarif.runs[0].results[0].locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'colon/SKILL.md' },
      region: { startLine: 3, startColumn: 14 },
    });
  });

  test('--strict makes warnings fail', async () => {
    const cwd = writeFiles(tempDirectory(), {
      'warned/SKILL.md': GOOD.replaceAll('good', 'warned').replace('Do it.', '[x](nothing.md)'),
    });
    expect((await run(['skill', 'lint', 'warned'], { cwd })).code).toBe(0);
    expect((await run(['skill', 'lint', 'warned', '--strict'], { cwd })).code).toBe(3);
  });

  test('--fix quotes the value and touches nothing else', async () => {
    const text =
      '---\nname: colon\n# kept: comment\ndescription: Use when: "asked" # yes\nlicense:   MIT\n---\r\n\nBody: stays\t\n';
    const cwd = writeFiles(tempDirectory(), { 'colon/SKILL.md': text });
    const { code, out } = await run(['skill', 'lint', 'colon', '--fix'], { cwd });
    expect([code, out]).toEqual([0, expect.stringContaining('1 repair written')]);
    expect(readFileSync(join(cwd, 'colon/SKILL.md'), 'utf8')).toBe(
      text.replace('Use when: "asked" # yes', '"Use when: \\"asked\\" # yes"'),
    );
  });

  test('--fix writes spaces for tabs, in their lines alone', async () => {
    const text =
      '---\nname: tabs\ndescription: Has tabs.\nmetadata:\n\tauthor: me\n  # kept\tcomment\n\tlevel: "1"\n---\n\n\tBody stays\n';
    const cwd = writeFiles(tempDirectory(), { 'tabs/SKILL.md': text });
    const { code, out } = await run(['skill', 'lint', 'tabs', '--fix'], { cwd });
    expect([code, out]).toEqual([0, expect.stringContaining('1 repair written')]);
    expect(readFileSync(join(cwd, 'tabs/SKILL.md'), 'utf8')).toBe(
      text.replace('\tauthor', '  author').replace('\tlevel', '  level'),
    );
  });

  test('X-08 a skill folder that is itself a link is followed', async () => {
    const cwd = writeFiles(tempDirectory(), { 'store/good/SKILL.md': GOOD, 'skills/.keep': '' });
    symlinkSync('../store/good', join(cwd, 'skills/good'));
    const { code, out } = await run(['skill', 'lint', 'skills'], { cwd });
    expect([code, out]).toEqual([0, expect.stringContaining('✔ skills/good')]);
  });

  test('X-08 a link out of the skill is an error and its target is not read', async () => {
    const cwd = writeFiles(tempDirectory(), { 'good/SKILL.md': GOOD, 'secret.md': 'secret' });
    symlinkSync('../secret.md', join(cwd, 'good/notes.md'));
    const { code, out } = await run(['skill', 'lint', 'good'], { cwd });
    expect(code).toBe(3);
    expect(out).toContain('[folder-link-outside]');
  });

  test('a refused archive is a finding, not a crash', async () => {
    const cwd = writeFiles(tempDirectory(), { 'bad.zip': Buffer.from('PK\u0003\u0004 not really') });
    const { code, out } = await run(['skill', 'lint', 'bad.zip', '--json'], { cwd });
    expect(code).toBe(3);
    expect(JSON.parse(out).skills[0]).toMatchObject({
      loads: false,
      ok: false,
      diagnostics: [{ code: 'archive-unsafe' }],
    });
  });

  test('X-08 a path that leads in a circle, or that no file can have, is not there: no defect of ours', async () => {
    const cwd = tempDirectory();
    symlinkSync('self', join(cwd, 'self'));
    for (const path of ['self', 'self/SKILL.md', 'x'.repeat(300)]) {
      const { code, err } = await run(['skill', 'lint', path], { cwd });
      expect([code, err]).toEqual([5, expect.stringContaining('There is no')]);
    }
  });

  test('a directory without skills is no skill', async () => {
    const cwd = writeFiles(tempDirectory(), { 'docs/readme.md': 'x' });
    const { code, out } = await run(['skill', 'lint', 'docs'], { cwd });
    expect([code, out]).toEqual([3, expect.stringContaining('[skill-md-missing]')]);
  });

  test('names and text from a skill cannot move the cursor', async () => {
    const evil = GOOD.replace('name: good', 'name: "good\\u001b[2J\\u202e"').replace(
      'Does a thing',
      'Does \u001b]0;x\u0007 a thing',
    );
    const cwd = writeFiles(tempDirectory(), { 'good/SKILL.md': evil });
    const { out } = await run(['skill', 'lint', 'good'], { cwd });
    expect(out).not.toMatch(/[\u001b\u202e\u0007]/);
  });

  test('nothing of a skill is printed as it is, nor as a line of its own: not its version, not a value in a message', async () => {
    const evil = JSON.stringify('\u001b[2J\u009b2J\u202e\u200b\u{e0041}\n1 skill: ok; nothing to report');
    const tool = '### t\n\nDoes.\n\n#### Command\n\n```bash\nls\n```\n';
    const head = `---\nname: good\nversion: ${evil}\ndescription: Does a thing.\nmodes: [${evil}]\n---\n\n${tool}`;
    const cwd = writeFiles(tempDirectory(), { 'good/SKILL.md': head });
    const { out } = await run(['skill', 'lint', 'good'], { cwd });
    expect(out).toContain('[mode-invalid]');
    expect(out).not.toMatch(/[\u001b\u009b\u202e\u200b\u{e0041}]/u);
    expect(out.match(/^1 skill:.*/gm)).toEqual([expect.stringContaining('1 failed')]);
  });

  test('SARIF names each file as it lies from here, however its skill was named; GitHub shows nothing of another name', async () => {
    const cwd = writeFiles(tempDirectory(), {
      'a b/colon/SKILL.md': COLON,
      'bad.zip': 'PK\u0003\u0004junk',
      'in/x': '',
    });
    const uris = async (path: string, from = cwd) => {
      const { out } = await run(['skill', 'lint', path, '--sarif'], { cwd: from });
      const { results } = JSON.parse(out).runs[0];
      return results.map((one: SarifPlace) => one.locations[0]?.physicalLocation.artifactLocation.uri);
    };
    const ours = ['a%20b/colon/SKILL.md', 'a%20b/colon/SKILL.md'];
    for (const path of [
      'a b/colon',
      './a b/colon/',
      'a b/colon/SKILL.md',
      join(cwd, 'a b/colon'),
      'in/../a b/colon',
      'a b',
    ]) {
      expect([path, new Set(await uris(path))]).toEqual([path, new Set(ours)]);
    }
    expect(new Set(await uris('SKILL.md', join(cwd, 'a b/colon')))).toEqual(new Set(['SKILL.md']));
    expect(new Set(await uris('.', join(cwd, 'a b/colon')))).toEqual(new Set(['SKILL.md']));
    expect(await uris('./bad.zip')).toEqual(['bad.zip']);
    const outside = pathToFileURL(join(cwd, 'a b/colon/SKILL.md')).href;
    expect(new Set(await uris('../a b/colon', join(cwd, 'in')))).toEqual(new Set([outside]));
  });

  test('a code frame reads the file as the reader does, and its caret stands below what is meant', async () => {
    const text = '---\nname: wide\ndescription: Does a thing.\n---\n\n处理😀é [c](d.md)\n';
    const cwd = writeFiles(tempDirectory(), { 'wide/SKILL.md': text, 'long/SKILL.md': COLON, 'u/SKILL.md': '' });
    writeFileSync(join(cwd, 'u/SKILL.md'), Buffer.from(`\ufeff${COLON}`, 'utf16le'));
    const wide = (await run(['skill', 'lint', 'wide'], { cwd })).out;
    // Eight columns: two wide letters, an emoji, a narrow letter and a space.
    expect(wide).toContain('    6 | 处理😀é [c](d.md)\n      |         ^\n');
    const utf16 = (await run(['skill', 'lint', 'u'], { cwd })).out;
    expect(utf16).toContain('    3 | description: Use when: asked\n      |              ^\n');
    // Cut around the place, and never through the middle of a character.
    const emoji = `${'😀'.repeat(80)}[c](d.md)${'😀'.repeat(80)}`;
    for (const shift of ['', 'x']) {
      writeFileSync(join(cwd, 'wide/SKILL.md'), text.replace('处理', shift + emoji));
      const { out } = await run(['skill', 'lint', 'wide'], { cwd });
      expect(out.isWellFormed()).toBe(true);
      const frame = out.split('\n').find(line => line.includes('…')) ?? '';
      const caret = out.split('\n').find(line => line.endsWith('^')) ?? '';
      expect(widthOf(frame.slice(0, frame.indexOf('[c]')))).toBe(caret.length - 1);
    }
  });

  test('a lone carriage return ends a line in every place alike: in the fields, in the text, and in the frame', async () => {
    const text = '---\nname: wide\nx: "a\rb"\nlicence: MIT\n---\n\nOne.\rTwo.\r\n[c](d.md)\n';
    const cwd = writeFiles(tempDirectory(), { 'wide/SKILL.md': text });
    const { out } = await run(['skill', 'lint', 'wide'], { cwd });
    expect(out).toContain('SKILL.md:5:1\n    5 | licence: MIT\n');
    expect(out).toContain('SKILL.md:10:1\n    10 | [c](d.md)\n');
  });
});
