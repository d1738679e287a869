import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compileScript } from '../../src/runs/compile.ts';
import { plant, type Tree } from '../skill/scratch.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SECRET = 'the-secret-of-the-host';

function setUp(tree: Tree) {
  const root = tempDir('compile');
  writeFileSync(join(root, 'secret.ts'), `export default '${SECRET}';`);
  writeFileSync(join(root, 'secret.json'), `"${SECRET}"`);
  const path = plant(join(root, 'skill'), tree);
  const directory = join(root, 'compiled');
  return {
    root,
    directory,
    compile: (script: string) =>
      compileScript({ path, digest: 'sb1-sha256:x', entries: [] }, script, directory, WRITER),
  };
}

describe('TypeScript ahead of the run', () => {
  test('WS-02 types go, enums work, siblings and JSON are bundled, packages stay imports', async () => {
    const { compile, directory } = setUp({
      'scripts/main.ts':
        "import { join } from 'node:path';\nimport { add } from './lib/add.js';\nimport data from '../data.json';\nenum Kind { A = 'a' }\nconst kind: Kind = Kind.A;\nconsole.log(join(kind, String(add(1, data.two))));\nawait Promise.resolve();\n",
      'scripts/lib/add.ts': 'export const add = (a: number, b: number): number => a + b;\n',
      'data.json': '{"two":2}',
    });
    const target = await compile('scripts/main.ts');
    expect(execFileSync(process.execPath, [target], { encoding: 'utf8' })).toBe('a/3\n');
    expect(readdirSync(directory)).toEqual(['sb1-sha256-x']);
    const made = readFileSync(target);
    expect(await compile('scripts/main.ts')).toBe(target);
    expect(readFileSync(target).equals(made)).toBe(true);
  });

  test('WS-02 a script on which the compiler dies, as one nested a million deep, takes nothing from the next', async () => {
    const { compile } = setUp({ 'scripts/first.ts': '1;\n', 'scripts/bad.ts': '2;\n', 'scripts/next.ts': '3;\n' });
    await compile('scripts/first.ts');
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
    const [compiler = ''] = children.filter(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--service='));
    process.kill(Number(compiler), 'SIGKILL');
    await expect(compile('scripts/bad.ts')).rejects.toMatchObject({
      code: 'INVALID_SKILL',
      message: expect.stringContaining('the compiler gave up on it'),
    });
    expect(existsSync(await compile('scripts/next.ts'))).toBe(true);
  });

  test.each([
    ["import x from '../../secret.ts';", 'leads out of the skill'],
    ["import x from '../../secret.json';", 'leads out of the skill'],
    ["const x = require('../../secret.json');", 'leads out of the skill'],
    ["const x = await import('../../secret.ts');", 'leads out of the skill'],
    ["export * from '../../secret';", 'leads out of the skill'],
    ["import x from './../.././secret.ts';", 'leads out of the skill'],
    ["import x from '/etc/hostname';", 'an absolute import'],
    ["import x from './gone.ts';", 'is not in the skill'],
    ['const x: = 1;', 'Unexpected'],
  ])('WS-02 %s is refused, and nothing is left', async (line, message) => {
    const { compile, directory, root } = setUp({ 'scripts/main.ts': `${line}\nconsole.log(x);\n` });
    const failure = await compile('scripts/main.ts').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'INVALID_SKILL', message: expect.stringContaining(message) });
    expect(String(failure)).not.toContain(root);
    expect(existsSync(join(directory, 'sb1-sha256-x/scripts/main.mjs'))).toBe(false);
    expect(readdirSync(directory).filter(name => name.endsWith('.part'))).toEqual([]);
  });

  test('WS-02 neither a tsconfig nor a source map of the skill reaches outside', async () => {
    const { compile } = setUp({
      'scripts/main.ts': "import x from 'alias';\nconsole.log(x);\n//# sourceMappingURL=../../secret.json\n",
      'scripts/tsconfig.json':
        '{"extends":"../../secret.json","compilerOptions":{"paths":{"alias":["../../secret.ts"]},"baseUrl":"."}}',
      'package.json': '{"imports":{"#x":"../secret.ts"},"browser":{"alias":"../secret.ts"}}',
    });
    expect(readFileSync(await compile('scripts/main.ts'), 'utf8')).not.toContain(SECRET);
  });
});
