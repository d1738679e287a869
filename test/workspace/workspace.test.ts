import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GUARDED } from '../../src/base/index.ts';
import { EXTENSIONS, openWorkspace, READ_BYTES, WRITE_BYTES } from '../../src/workspace/index.ts';
import { tempDirectory } from '../temp.ts';

const temp = tempDirectory();
const NOTHING = async () => undefined;

function fixture(files: Record<string, string> = {}) {
  const base = mkdtempSync(join(temp, 'case-'));
  const root = join(base, 'workspace');
  mkdirSync(root);
  mkdirSync(join(base, 'outside'));
  writeFileSync(join(base, 'outside/secret.txt'), 'outside');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { base, root, outside: join(base, 'outside'), workspace: openWorkspace(root) };
}

function codeOf(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

async function codeOfLater(act: () => Promise<unknown>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe('extensions (WS-05)', () => {
  const seed = '.md .txt .json .yaml .yml .py .sh .bash .js .ts .html .css .xml .csv .log .toml .ini .cfg .conf';

  test('exactly those of the format', () => {
    expect([...EXTENSIONS].sort()).toEqual(seed.split(' ').sort());
  });

  test.each([...EXTENSIONS])('%s is read and written', async extension => {
    const { workspace } = fixture();
    await workspace.write(`a${extension.toUpperCase()}`, 'text', NOTHING);
    expect(workspace.read(`a${extension.toUpperCase()}`).text).toBe('text');
  });

  test.each(['a.exe', 'a', '.log', 'a.md.exe', 'a.md~', 'a.md ', 'a.', 'a.tsx', 'a.env'])(
    '%s is refused',
    async name => {
      const { workspace, root } = fixture();
      expect(await codeOfLater(() => workspace.write(name, 'x', NOTHING))).toBe('FILE_TYPE');
      writeFileSync(join(root, name), 'x');
      expect(codeOf(() => workspace.read(name))).toBe('FILE_TYPE');
    },
  );

  test('the name that a link leads to decides, not the link', () => {
    const { workspace, root } = fixture({ 'a.md': 'text', 'tool.exe': 'binary' });
    symlinkSync('tool.exe', join(root, 'notes.md'));
    symlinkSync('a.md', join(root, 'notes.exe'));
    expect(codeOf(() => workspace.read('notes.md'))).toBe('FILE_TYPE');
    expect(workspace.read('notes.exe')).toMatchObject({ path: 'a.md', text: 'text' });
  });
});

describe('sizes (WS-06)', () => {
  test('1,048,576 bytes are read, one more is not', () => {
    const { workspace } = fixture({ 'at.txt': 'x'.repeat(1_048_576), 'over.txt': 'x'.repeat(1_048_577) });
    expect(workspace.read('at.txt').bytes).toBe(READ_BYTES);
    expect(codeOf(() => workspace.read('over.txt'))).toBe('FILE_TOO_LARGE');
  });

  test('102,400 bytes are written, one more is not, and nothing is left behind', async () => {
    const { workspace, root } = fixture();
    await workspace.write('at.txt', 'x'.repeat(102_400), NOTHING);
    expect(statSync(join(root, 'at.txt')).size).toBe(WRITE_BYTES);
    expect(await codeOfLater(() => workspace.write('new/over.txt', 'x'.repeat(102_401), NOTHING))).toBe(
      'FILE_TOO_LARGE',
    );
    // Bytes count, not characters.
    expect(await codeOfLater(() => workspace.write('over.txt', 'ä'.repeat(51_201), NOTHING))).toBe('FILE_TOO_LARGE');
    expect(readdirSync(root)).toEqual(['at.txt']);
  });

  test('an edit that would grow beyond the limit leaves the file as it is', async () => {
    const { workspace, root } = fixture({ 'a.txt': `mark${'x'.repeat(102_390)}` });
    const change = { oldText: 'mark', newText: 'a longer mark than before', all: false };
    expect(await codeOfLater(() => workspace.edit('a.txt', change, NOTHING))).toBe('FILE_TOO_LARGE');
    expect(readFileSync(join(root, 'a.txt'), 'utf8').startsWith('markx')).toBe(true);
  });

  test('what cannot be told to the journal is not written', async () => {
    const { workspace, root } = fixture({ 'a.txt': 'old' });
    const refuse = async () => {
      throw new Error('the disk is full');
    };
    await expect(workspace.write('a.txt', 'new', refuse)).rejects.toThrow('the disk is full');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('old');
    expect(readdirSync(root)).toEqual(['a.txt']);
  });

  test('a write that fails leaves the old file and nothing of its own', async () => {
    const { workspace, root } = fixture({ 'a.txt': 'old' });
    const swap = async () => writeFileSync(join(root, 'a.txt'), 'somebody else');
    expect(await codeOfLater(() => workspace.write('a.txt', 'new', swap))).toBe('FILE_CHANGED');
    expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('somebody else');
    expect(readdirSync(root)).toEqual(['a.txt']);
  });

  test('the mode of a file stays, and a new one is not executable', async () => {
    const { workspace, root } = fixture({ 'a.sh': 'old' });
    chmodSync(join(root, 'a.sh'), 0o750);
    await workspace.write('a.sh', 'new', NOTHING);
    await workspace.write('b.sh', 'new', NOTHING);
    expect(statSync(join(root, 'a.sh')).mode & 0o777).toBe(0o750);
    expect(statSync(join(root, 'b.sh')).mode & 0o111).toBe(0);
  });

  test('another name of the same file keeps the old content', async () => {
    const { workspace, root, outside } = fixture();
    linkSync(join(outside, 'secret.txt'), join(root, 'a.txt'));
    await workspace.write('a.txt', 'new', NOTHING);
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('outside');
  });
});

describe('edits (WS-04)', () => {
  test('the old text must occur once, unless all are meant', async () => {
    const { workspace } = fixture({ 'a.txt': 'one two one' });
    const edit = (oldText: string, newText: string, all: boolean) =>
      workspace.edit('a.txt', { oldText, newText, all }, NOTHING);
    expect(await codeOfLater(() => edit('one', '1', false))).toBe('EDIT_UNMATCHED');
    expect(await codeOfLater(() => edit('three', '3', true))).toBe('EDIT_UNMATCHED');
    expect(await codeOfLater(() => edit('', '3', true))).toBe('EDIT_UNMATCHED');
    // No pattern characters have a meaning, neither in the old text nor in the new.
    expect(await edit('two', '$& $1', false)).toMatchObject({ replacements: 1 });
    expect(await edit('one', '1', true)).toMatchObject({ replacements: 2 });
    expect(workspace.read('a.txt').text).toBe('1 $& $1 1');
  });

  test('an edit does what replacing the text does', async () => {
    const piece = fc.stringMatching(/^[ab\n]{0,6}$/);
    const { workspace } = fixture();
    await fc.assert(
      fc.asyncProperty(
        piece,
        piece.filter(text => text !== ''),
        piece,
        async (text, oldText, newText) => {
          await workspace.write('a.txt', text, NOTHING);
          const change = { oldText, newText, all: true };
          const code = await codeOfLater(() => workspace.edit('a.txt', change, NOTHING));
          expect(code).toBe(text.includes(oldText) ? null : 'EDIT_UNMATCHED');
          expect(workspace.read('a.txt').text).toBe(text.replaceAll(oldText, () => newText));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('what is not UTF-8 is not text', () => {
    const { workspace, root } = fixture();
    writeFileSync(join(root, 'a.txt'), Buffer.from([0x61, 0xff]));
    expect(codeOf(() => workspace.read('a.txt'))).toBe('FILE_TYPE');
  });
});

describe('protected paths (WS-10)', () => {
  const planted = ['.git/hooks/pre-commit.sh', 'a/.git/config.ini', '.GIT/hooks/x.sh', '.git./hooks/x.sh', ...GUARDED];
  const paths = planted.map(path => (/\.\w+$/.test(path) && path.lastIndexOf('.') > 0 ? path : `${path}/x.json`));

  test.each([...paths, 'sub/.vscode/tasks.json', '.VSCode/tasks.json', 'Package.JSON', 'a/AGENTS.md', '.ＧＩＴ/x.sh'])(
    '%s is not written',
    async path => {
      const { workspace, root } = fixture();
      expect(await codeOfLater(() => workspace.write(path, '{}', NOTHING))).toBe('PATH_PROTECTED');
      expect(await codeOfLater(() => workspace.bring(path, Buffer.from('{}'), NOTHING))).toBe('PATH_PROTECTED');
      expect(readdirSync(root)).toEqual([]);
    },
  );

  test.each(['.env.json', '.ENV.json', 'sub/.env.local.json', '.aws/config.ini', 'secrets.yaml', '.ssh/a.txt'])(
    '%s is neither read nor written',
    async path => {
      const { workspace } = fixture({ [path]: 'token' });
      expect(codeOf(() => workspace.read(path))).toBe('PATH_PROTECTED');
      expect(await codeOfLater(() => workspace.write(path, 'x', NOTHING))).toBe('PATH_PROTECTED');
    },
  );

  test('a way around through a link is no way', async () => {
    const { workspace, root } = fixture({ '.git/hooks/x.sh': '', 'conf.json': 'token', 'editor/settings.json': '{}' });
    symlinkSync('.git/hooks', join(root, 'tools'));
    symlinkSync('conf.json', join(root, '.env'));
    symlinkSync('editor', join(root, '.vscode'));
    expect(await codeOfLater(() => workspace.write('tools/x.sh', 'x', NOTHING))).toBe('PATH_PROTECTED');
    expect(await codeOfLater(() => workspace.write('tools/new/x.sh', 'x', NOTHING))).toBe('PATH_PROTECTED');
    expect(await codeOfLater(() => workspace.write('editor/tasks.json', 'x', NOTHING))).toBe('PATH_PROTECTED');
    expect(await codeOfLater(() => workspace.write('editor/new/tasks.json', 'x', NOTHING))).toBe('PATH_PROTECTED');
    expect(codeOf(() => workspace.read('conf.json'))).toBe('PATH_PROTECTED');
    expect(existsSync(join(root, '.git/hooks/new'))).toBe(false);
    expect(existsSync(join(root, 'editor/new'))).toBe(false);
    expect(readFileSync(join(root, '.git/hooks/x.sh'), 'utf8')).toBe('');
    // Reading what a guarded name holds is no harm.
    expect(workspace.read('.vscode/settings.json').text).toBe('{}');
  });

  test('what a repository has git obey among its other files is not written', async () => {
    const { workspace, root } = fixture({
      '.git/config': '[core]\n\thooksPath = .githooks\n\tfsmonitor = bin/watch.sh\n',
      'sub/.git/config': '[core]\n\thooksPath = later\n',
      'bin/watch.sh': '',
      'scripts/check.sh': '',
      '.git/hooks/x': '',
    });
    symlinkSync('../../scripts/check.sh', join(root, '.git/hooks/pre-commit'));
    for (const path of [
      '.githooks/pre-commit.sh',
      '.GitHooks/a/b.sh',
      'bin/watch.sh',
      'scripts/check.sh',
      'sub/later/x.sh',
    ])
      expect(await codeOfLater(() => workspace.write(path, 'x', NOTHING)), path).toBe('PATH_PROTECTED');
    expect(existsSync(join(root, 'sub/later'))).toBe(false);
    for (const path of ['bin/other.sh', 'scripts/more.sh', 'later/x.sh', 'sub/a/later/x.sh'])
      expect(await codeOfLater(() => workspace.write(path, 'x', NOTHING)), path).toBeNull();
    expect(workspace.read('bin/watch.sh').text).toBe('');
    writeFileSync(join(root, '.git/config'), `[core]\n${'#'.repeat(300_000)}\n`);
    expect(await codeOfLater(() => workspace.write('bin/more.sh', 'x', NOTHING))).toBe('PATH_PROTECTED');
  });

  test('nor what one obeys that lies above the workspace, or that the workspace is a worktree of', async () => {
    const { workspace, root } = fixture({ 'bin/watch.sh': '', 'bin/more.sh': '' });
    const git = join(root, '../.git');
    mkdirSync(git);
    writeFileSync(join(git, 'config'), `[core]\n\tfsmonitor = ${basename(root)}/bin/watch.sh\n`);
    expect(await codeOfLater(() => workspace.write('bin/watch.sh', 'x', NOTHING))).toBe('PATH_PROTECTED');
    expect(await codeOfLater(() => workspace.write('bin/more.sh', 'x', NOTHING))).toBeNull();
    writeFileSync(join(root, '.git'), 'gitdir: ../.git\n');
    writeFileSync(join(git, 'config'), '[core]\n\thooksPath = bin\n');
    expect(await codeOfLater(() => workspace.write('bin/more.sh', 'x', NOTHING))).toBe('PATH_PROTECTED');
    expect(await codeOfLater(() => workspace.write('other/more.sh', 'x', NOTHING))).toBeNull();
  });
});

describe('confinement (WS-07)', () => {
  test.each([
    '../outside/secret.txt',
    'a/../../outside/secret.txt',
    '/etc/hosts.conf',
    'a\u0000.txt',
    'a\\..\\b.txt',
    '.',
    '',
    'a.txt/',
  ])('%j is refused', async path => {
    const { workspace } = fixture({ 'a/x.txt': 'x', 'a.txt': 'x' });
    expect(codeOf(() => workspace.read(path))).toBe('PATH_OUTSIDE');
    expect(await codeOfLater(() => workspace.write(path, 'x', NOTHING))).toBe('PATH_OUTSIDE');
  });

  test('links are followed while they stay inside', async () => {
    const { workspace, root, outside } = fixture({ 'a/b/x.txt': 'inside' });
    symlinkSync('a/b', join(root, 'short'));
    symlinkSync(join(root, 'a'), join(root, 'absolute'));
    symlinkSync(outside, join(root, 'out'));
    symlinkSync('../outside', join(root, 'up'));
    symlinkSync('loop', join(root, 'loop'));
    expect(workspace.read('short/x.txt')).toMatchObject({ path: 'a/b/x.txt', text: 'inside' });
    expect(workspace.read('absolute/b/x.txt').path).toBe('a/b/x.txt');
    expect(workspace.read('short/../b/x.txt').path).toBe('a/b/x.txt');
    expect(workspace.read(join(root, 'a/b/x.txt')).path).toBe('a/b/x.txt');
    for (const path of ['out/secret.txt', 'up/secret.txt', 'loop/x.txt', 'loop']) {
      expect(codeOf(() => workspace.read(path))).toBe('PATH_OUTSIDE');
      expect(await codeOfLater(() => workspace.write(path, 'x', NOTHING))).toBe('PATH_OUTSIDE');
    }
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('outside');
  });

  test('a path that leads out, or elsewhere, makes no folder on its way', async () => {
    const { root, workspace } = fixture();
    const write = (path: string) => codeOfLater(() => workspace.write(path, 'x', NOTHING));
    expect(await write('new/../../y.txt')).toBe('PATH_OUTSIDE');
    expect(await write('new/deep/../../../y.txt')).toBe('PATH_OUTSIDE');
    expect(await write('new/deep/../..')).toBe('PATH_OUTSIDE');
    expect(readdirSync(root)).toEqual([]);
    expect(await write('new/deep/../../y.txt')).toBeNull();
    expect(await write('made/new/../y.txt')).toBeNull();
    expect(readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()).toEqual(['made', 'made/y.txt', 'y.txt']);
  });

  test('a write through a link replaces what it leads to, and the link stays', async () => {
    const { workspace, root } = fixture({ 'a/x.txt': 'old' });
    symlinkSync('a/x.txt', join(root, 'x.txt'));
    expect((await workspace.write('x.txt', 'new', NOTHING)).path).toBe('a/x.txt');
    expect(lstatSync(join(root, 'x.txt')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(root, 'a/x.txt'), 'utf8')).toBe('new');
  });

  test('no path reads or writes outside, whatever it is made of', async () => {
    const { workspace, root, outside } = fixture({ 'a/b/x.txt': 'inside', 'x.txt': 'inside' });
    symlinkSync('..', join(root, 'a/up'));
    symlinkSync('../..', join(root, 'a/upper'));
    symlinkSync(outside, join(root, 'out'));
    symlinkSync('/', join(root, 'slash'));
    const part = fc.constantFrom(
      'a',
      'b',
      'up',
      'upper',
      'out',
      'slash',
      '..',
      '.',
      '',
      'outside',
      'workspace',
      'x.txt',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 7 }), fc.boolean(), async (parts, absolute) => {
        const path = `${absolute ? '/' : ''}${[...parts, 'secret.txt'].join('/')}`;
        try {
          expect(workspace.read(path).text).not.toBe('outside');
        } catch (error) {
          expect((error as { code?: string }).code).toMatch(/^(PATH_OUTSIDE|NOT_FOUND)$/);
        }
        await workspace.write(path, 'changed', NOTHING).catch(() => undefined);
        expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('outside');
      }),
      { numRuns: 300 },
    );
  });
});
