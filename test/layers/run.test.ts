import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { newTool } from '../support/approvals.ts';
import { PackageServer } from '../support/packages.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();
const skip = !existsSync('/usr/bin/bwrap');
const server = new PackageServer();
const examples = join(import.meta.dirname, '../../examples');
const data = tempDir('data');
let env: Record<string, string> = {};

/** Stand-ins with the names and the few functions that the examples use. */
beforeAll(async () => {
  await server.start();
  env = { SKILLBOX_DATA_DIR: data, SKILLBOX_PIP_INDEX_URL: server.pip, SKILLBOX_NPM_REGISTRY: server.npm };
  server.addWheel('tabulate', '0.9.0', {
    'tabulate/__init__.py': `
def tabulate(rows, headers, tablefmt):
    keys = list(rows[0])
    lines = [keys, ['---'] * len(keys), *[[str(row[key]) for key in keys] for row in rows]]
    return '\\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)
`,
  });
  await server.addPackage({
    name: 'slugify',
    version: '1.6.9',
    files: { 'index.js': `module.exports = text => text.toLowerCase().match(/[a-z]+/g).join('-');` },
  });
});
afterAll(() => server.close());

const json = (ran: { code: number; out: string; err: string }) => {
  expect(ran.err).toBe('');
  return JSON.parse(ran.out) as {
    status: string;
    output: unknown;
    logs: string;
    layers: unknown[];
    mounts: { at: string }[];
  };
};

describe.skipIf(skip)('skillbox run with dependencies', () => {
  test('SB-07 the python example, as a dry run that builds nothing, then built, then offline', async () => {
    const words = [
      'run',
      join(examples, 'skillbox/table-maker'),
      '--json',
      '--input',
      '{"rows":[{"part":"bolt","price":2}]}',
    ];
    const before = json(await run([...words, '--dry-run'], { env, own: true }));
    expect(before.layers).toEqual([{ manager: 'pip', key: null, cached: false }]);
    expect(server.requests).toEqual([]);

    expect(json(await run(words, { env, own: true }))).toMatchObject({
      status: 'success',
      output: { table: '| part | price |\n| --- | --- |\n| bolt | 2 |', rows: 1 },
    });
    const after = json(await run([...words, '--dry-run'], { env, own: true }));
    expect(after.layers).toEqual([{ manager: 'pip', key: expect.any(String) as string, cached: true }]);
    expect(after.mounts.map(({ at }) => at)).toContain('/sandbox/site-packages');

    const asked = server.requests.length;
    expect(json(await run(words, { env, own: true })).status).toBe('success');
    expect(server.requests).toHaveLength(asked);
  });

  test('SB-07 the node example', async () => {
    const words = ['run', join(examples, 'skillbox/slug-maker'), '--json', '--input', '{"titles":["To be, or not"]}'];
    expect(json(await run(words, { env, own: true }))).toMatchObject({
      status: 'success',
      output: { slugs: ['to-be-or-not'] },
    });
  });

  test('SB-07 WS-02 scripts of a workspace skill: python, node and TypeScript, each with its packages', async () => {
    const skill = writeFiles(join(tempDir('skill'), 'all-three'), {
      'SKILL.md': '---\nname: all-three\ndescription: Uses packages in three languages.\ntags: a\n---\n\nBody.\n',
      'requirements.txt': 'tabulate\n',
      'package.json': '{"dependencies":{"slugify":"1"}}',
      'scripts/a.py': 'import sys, tabulate\nprint(tabulate.__file__, sys.argv[1])\n',
      'scripts/b.js': `import('slugify').then(found => console.log(found.default('B b'), process.argv[2]));\n`,
      'scripts/c.ts': `import slugify from 'slugify';\nconst text: string = slugify('C c');\nconsole.log(text);\n`,
    });
    const logs = async (script: string) =>
      json(await run(['run', skill, script, '--json', '--', 'x'], { env, own: true })).logs;
    expect(await logs('a.py')).toBe('/skillbox/site-packages/tabulate/__init__.py x\n');
    expect(await logs('b.js')).toBe('b-b x\n');
    expect(await logs('c.ts')).toBe('c-c\n');
  });

  test('SB-07 a skill that brings its own node_modules keeps it', async () => {
    const skill = writeFiles(join(tempDir('skill'), 'vendored'), {
      'SKILL.md': '---\nname: vendored\nversion: 1.0.0\ndescription: Brings its packages.\nlang: node\n---\n\nBody.\n',
      'scripts/main.js': `import('own').then(found => console.log(found.default));\n`,
      'node_modules/own/index.js': `module.exports = 'its own';\n`,
      '.skillboxignore': '!node_modules\n',
    });
    const { logs } = json(await run(['run', skill, '--json'], { env, own: true }));
    expect(logs).toBe('its own\n');
  });

  test('SB-07 refused and failed dependencies have their own codes, and leave no layer; what was allowed and failed is recorded', async () => {
    const skill = (requirements: string) =>
      writeFiles(join(tempDir('skill'), 'needy'), {
        'SKILL.md': '---\nname: needy\nversion: 1.0.0\ndescription: Needs packages.\n---\n\nBody.\n',
        'scripts/main.py': 'print(1)\n',
        'requirements.txt': requirements,
      });
    const refused = await run(['run', skill('--index-url https://evil.example/simple\nx\n'), '--json'], {
      env,
      own: true,
    });
    expect([refused.code, JSON.parse(refused.out)]).toMatchObject([3, { error: 'DEPENDENCIES_REFUSED' }]);
    const failed = await run(['run', skill('missing-package==1\n')], { env, own: true });
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(/^error: pip could not resolve the dependencies \(exit code 1\): ERROR: No matching/);
    expect(failed.err).toContain('Could not find a version that satisfies the requirement missing-package==1');
    expect(readdirSync(join(data, 'layers/work'))).toEqual([]);
    const { runs } = JSON.parse((await run(['exec', 'list', '--limit', '1', '--json'], { env })).out);
    expect(runs).toMatchObject([
      { status: 'failed', error: { code: 'DEPENDENCIES_FAILED' }, skill: { name: 'needy' } },
    ]);
    const told = JSON.parse((await run(['run', skill('missing-package==1\n'), '--json'], { env, own: true })).out);
    const shown = await run(['exec', 'show', told.details.run, '--json'], { env });
    expect(JSON.parse(shown.out)).toMatchObject({ status: 'failed', error: { code: told.error } });
  });

  test('nothing is fetched before it is allowed; "always" is for the packages that were resolved', async () => {
    const own = { ...env, SKILLBOX_DATA_DIR: join(tempDir('data'), 'data') };
    const layers = join(own.SKILLBOX_DATA_DIR ?? '', 'layers');
    const path = newTool();
    writeFiles(path, {
      'package.json': '{"dependencies":{"slugify":"1.6.9"}}',
      'scripts/say.sh*': '#!/usr/bin/env node\nconsole.log(require("slugify")("To Be"));\n',
    });
    const words = ['run', path, 'say', '--param', 'text=x', '--json'];
    const asked = await run(words, { env: own, own: true });
    expect([asked.code, existsSync(layers)]).toEqual([4, false]);
    const { execution_id: id } = JSON.parse(asked.out);
    const shown = JSON.parse((await run(['approve', 'show', id, '--json'], { env: own })).out);
    expect(shown.preview.dependencies).toEqual([{ manager: 'npm', lock: null }]);
    const allowed = await run(['approve', 'allow', id, '--always', '--json'], { env: own, answers: [] });
    expect(JSON.parse(allowed.out)).toMatchObject({
      status: 'success',
      output: { output: 'to-be\n' },
      approval: { answer: 'always', channel: 'terminal' },
    });
    expect((await run(words, { env: own })).code).toBe(0);
    // Resolved anew they may be others: that is asked, although no byte of the skill has changed.
    rmSync(layers, { recursive: true });
    expect((await run(words, { env: own })).code).toBe(4);
  });

  test('SB-07 on a terminal the build shows what the package manager says', async () => {
    const home = tempDir('data');
    mkdirSync(home, { recursive: true });
    const words = ['run', join(examples, 'skillbox/table-maker'), '--input', '{"rows":[{"a":1}]}'];
    const ran = await run(words, { env: { ...env, SKILLBOX_DATA_DIR: home }, answers: [] });
    expect(ran.code).toBe(0);
    expect(ran.err).toMatch(/building dependencies … \d+\.\ds\n {2}pip: /);
  });
});
