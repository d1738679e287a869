import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isSecretName } from '../../src/base/index.ts';
import { guardWorkspaces } from '../../src/sandbox/guard.ts';
import { findPlanted, findPlantedBelow, isSteady, lookAt } from '../../src/sandbox/planted.ts';
import { planProtection } from '../../src/sandbox/protect.ts';
import { quarantine } from '../../src/sandbox/quarantine.ts';
import { specOf } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

it.each([
  '.env',
  '.env.local',
  '.env-prod',
  'id_rsa',
  'id_ed25519',
  'server.pem',
  'tls.key',
  '.netrc',
  '.ssh',
  '.aws',
  'credentials.json',
  'secrets.yaml',
  '.env~',
  '#.env#',
  '..env.swp',
  'server.pem~',
  '.id_rsa.swo',
  '.dev.vars',
  '.dev.vars.production',
  'prod.kubeconfig',
  '.s3cfg',
])('%s is secret', name => expect(isSecretName(name)).toBe(true));
it.each([
  'environment.ts',
  'env.ts',
  'keys.ts',
  'id_rsa.pub',
  'README.md',
  'monkey.js',
  '.envoy',
  'a~',
  '#notes#',
  '.main.ts.swp',
  '~',
])('%s is not', name => expect(isSecretName(name)).toBe(false));

it('plans a repository with another inside it', async () => {
  const root = tempDir('protect');
  execFileSync('git', ['init', '-q', root]);
  execFileSync('git', ['init', '-q', join(root, 'a/b')]);
  writeFileSync(join(root, '.env'), 'x');
  mkdirSync(join(root, '.vscode'));
  mkdirSync(join(root, 'real'));
  writeFileSync(join(root, 'real/value'), 'x');
  symlinkSync('../real/value', join(root, 'a/.env'));
  symlinkSync('/etc/passwd', join(root, 'a/.env.out'));
  symlinkSync('real', join(root, '.idea'));
  const plan = await planProtection(root, { reveal: [], unlock: [] });
  expect(plan.hold).toEqual(['.git', 'a', 'a/b', 'a/b/.git']);
  expect(plan.readOnly).toEqual(
    expect.arrayContaining(['.vscode', '.git/hooks', '.git/config', 'a/b/.git/hooks', 'a/b/.git/config']),
  );
  expect(plan.hidden).toEqual(['.env', 'real/value']);
  expect(plan.absent).toEqual(expect.arrayContaining(['.idea', '.envrc', '.mcp.json', '.git/commondir']));
  const granted = await planProtection(root, { reveal: ['.env'], unlock: ['.git', '.vscode'] });
  expect(granted.hidden).toEqual(['real/value']);
  expect(granted.readOnly.some(path => path.startsWith('.git/') || path === '.vscode')).toBe(false);
});

it('what git obeys of a repository elsewhere in the project is guarded; what leads out of it, or is all of it, is not', async () => {
  const root = tempDir('protect');
  execFileSync('git', ['init', '-q', root]);
  execFileSync('git', ['init', '-q', join(root, 'a/b')]);
  for (const path of ['hooks', 'a/b/own', 'tools']) mkdirSync(join(root, path), { recursive: true });
  for (const path of ['tools/check', 'tools/ssh.sh', 'more.conf', 'fine']) writeFileSync(join(root, path), '');
  symlinkSync('../../tools/check', join(root, '.git/hooks/pre-commit'));
  symlinkSync('/usr/bin/true', join(root, '.git/hooks/pre-push'));
  const config = (at: string, text: string) => writeFileSync(join(root, at, '.git/config'), text);
  config('.', '[core] hooksPath = hooks\n\tsshCommand = "tools/ssh.sh -q"\n[include]\n\tpath = ../more.conf\n');
  config(
    'a/b',
    '[core]\n\thooksPath = own\n\tpager = less\n\teditor = ../../../outside\n[submodule "x"]\n\tpath = fine\n',
  );
  const { readOnly, hold } = await planProtection(root, { reveal: [], unlock: [] });
  const there = ['hooks', 'tools/check', 'tools/ssh.sh', 'more.conf', 'a/b/own'];
  expect(readOnly).toEqual(expect.arrayContaining(there));
  expect(hold).toContain('tools');
  expect(readOnly.filter(path => !/(^|\/)\.git\//.test(path)).sort()).toEqual(there.sort());
  config('.', '[core]\n\thooksPath = .\n');
  expect((await planProtection(root, { reveal: [], unlock: [] })).readOnly).not.toContain('');
  // What is too much to look for is not guarded in part, without a word.
  for (const at of Array(101).keys()) mkdirSync(join(root, `d${at}`));
  const names = (count: number) => Array.from({ length: count }, (_, at) => `d${at}`).join(' ');
  for (const [text, complete] of [
    [`[core]\n\tpager = ${names(99)}`, true],
    [`[core]\n\tpager = ${names(101)}`, false],
    [`[core]\n\tpager = less\n${'#'.repeat(300_000)}`, false],
  ] as const) {
    config('.', text);
    expect((await planProtection(root, { reveal: [], unlock: [] })).complete).toBe(complete);
  }
  // A clone may bring anything: a pipe would be waited for.
  rmSync(join(root, '.git/config'));
  execFileSync('mkfifo', [join(root, '.git/config')]);
  expect((await planProtection(root, { reveal: [], unlock: [] })).readOnly).toContain('tools/check');
});

it('what is obeyed is guarded whatever stands for the git directory, and where that lies above', async () => {
  const root = tempDir('protect');
  const git = join(root, 'real');
  for (const path of ['real', 'pointer/hooks', 'link/hooks', 'below/hooks'])
    mkdirSync(join(root, path), { recursive: true });
  const readOnly = async (at: string) => (await planProtection(join(root, at), { reveal: [], unlock: [] })).readOnly;
  writeFileSync(join(git, 'config'), '[core]\n\thooksPath = hooks\n');
  writeFileSync(join(root, 'pointer/.git'), 'gitdir: ../real\n');
  symlinkSync('../real', join(root, 'link/.git'));
  expect(await readOnly('pointer')).toEqual(['.git', 'hooks']);
  expect(await readOnly('link')).toEqual(['hooks']);
  symlinkSync('real', join(root, '.git'));
  writeFileSync(join(git, 'config'), '[core]\n\thooksPath = below/hooks\n');
  expect(await readOnly('below')).toEqual(['hooks']);
  // As is one further up, behind a repository of its own.
  execFileSync('git', ['init', '-q', join(root, 'nested')]);
  mkdirSync(join(root, 'nested/deep/hooks'), { recursive: true });
  writeFileSync(join(git, 'config'), '[core]\n\thooksPath = nested/deep/hooks\n');
  expect(await readOnly('nested/deep')).toEqual(['hooks']);
  // The project's own folder cannot be closed, but each name that git would take of it can be watched.
  writeFileSync(join(git, 'config'), '[core]\n\thooksPath = .\n');
  writeFileSync(join(root, 'pre-commit'), '');
  const plan = await planProtection(root, { reveal: [], unlock: [] });
  expect(plan.readOnly).toContain('pre-commit');
  expect(plan.absent).toEqual(expect.arrayContaining(['post-checkout', 'pre-push']));
});

it.each(['.Rprofile', '.pdbrc', '.gdbinit', '.cargo'])(
  '%s, which a program executes where it is started, is watched at the root',
  async name => {
    const root = tempDir('protect');
    expect((await planProtection(root, { reveal: [], unlock: [] })).absent).toContain(name);
    writeFileSync(join(root, name), '');
    expect((await planProtection(root, { reveal: [], unlock: [] })).readOnly).toEqual([name]);
  },
);

it('a secret is hidden under each of its names', async () => {
  const root = tempDir('protect');
  mkdirSync(join(root, 'a'));
  writeFileSync(join(root, '.env'), 'x');
  for (const name of ['notes.txt', 'a/copy']) linkSync(join(root, '.env'), join(root, name));
  writeFileSync(join(root, 'pair'), 'x');
  linkSync(join(root, 'pair'), join(root, 'a/pair'));
  const { hidden } = await planProtection(root, { reveal: [], unlock: [] });
  expect(hidden.sort()).toEqual(['.env', 'a/copy', 'notes.txt']);
});

it('who gives a plain folder gives nothing in it that is secret or obeyed; who names that gives all of it but sockets', async () => {
  const root = tempDir('protect');
  execFileSync('git', ['init', '-q', join(root, 'a/repo')]);
  for (const path of ['a/.vscode', 'a/.ssh/keys']) mkdirSync(join(root, path), { recursive: true });
  for (const path of ['a/.env', 'a/.ssh/id_rsa']) writeFileSync(join(root, path), 'x');
  const servers = ['a/one.sock', 'a/.ssh/keys/two.sock'].map(path => createServer().listen(join(root, path)));
  await Promise.all(servers.map(server => once(server, 'listening')));
  const plan = await planProtection(root, { reveal: ['a'], unlock: ['a'] });
  expect(plan.hidden.sort()).toEqual(['a/.env', 'a/.ssh', 'a/one.sock']);
  expect(plan.readOnly).toEqual(expect.arrayContaining(['a/.vscode', 'a/repo/.git/hooks']));
  const named = await planProtection(root, {
    reveal: ['a/.env', 'a/.ssh', 'a/one.sock'],
    unlock: ['a/.vscode', 'a/repo/.git'],
  });
  expect(named.hidden.sort()).toEqual(['a/.ssh/keys/two.sock', 'a/one.sock']);
  expect(named.readOnly.filter(path => /vscode|hooks/.test(path))).toEqual([]);
  const part = await planProtection(root, { reveal: ['a/.ssh/keys'], unlock: [] });
  expect(part.hidden.sort()).toEqual(['a/.env', 'a/.ssh/id_rsa', 'a/.ssh/keys/two.sock', 'a/one.sock']);
  for (const server of servers) server.close();
});

it('says when a tree is too deep to have been looked through', async () => {
  const root = tempDir('protect');
  mkdirSync(join(root, 'a/'.repeat(50)), { recursive: true });
  expect((await planProtection(root, { reveal: [], unlock: [] })).complete).toBe(false);
});

it('says when more is guarded than mounts can be made for', async () => {
  const root = tempDir('protect');
  for (let at = 0; at < 510; at++) mkdirSync(join(root, `p${at}/.vscode`), { recursive: true });
  expect((await planProtection(root, { reveal: [], unlock: [] })).complete).toBe(false);
});

it('tells when a run has made too much to look for what it planted', async () => {
  const root = tempDir('protect');
  const plan = await planProtection(root, { reveal: [], unlock: [] });
  const source = { kind: 'bind', source: root, at: '/w', writable: true, exec: true, protect: null } as const;
  const guard = await guardWorkspaces(specOf(['true'], { mounts: [source] }), new Map([['/w', plan]]), join(root, 'q'));
  mkdirSync(join(root, 'a/'.repeat(50)), { recursive: true });
  await guard.after();
  expect(guard.planted).toEqual([{ path: '.', movedTo: null }]);
});

it('a name is guarded below as a file system that ignores case would read it', async () => {
  const root = tempDir('protect');
  mkdirSync(join(root, 'there/.VSCode'), { recursive: true });
  writeFileSync(join(root, '.ENV'), '');
  const plan = await planProtection(root, { reveal: [], unlock: [] });
  expect([plan.readOnly, plan.hidden]).toEqual([['there/.VSCode'], ['.ENV']]);
  for (const path of ['a/.VSCODE', 'a/.Git/objects', 'a/vscode', 'a/.vscode2'])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, 'a/.Git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(root, 'a/.Git/config'), '[core]\n\tpager = x\n');
  expect((await findPlantedBelow(root, plan)).planted.sort()).toEqual(['a/.Git', 'a/.VSCODE']);
});

it('a repository that was planted is none any more wherever it goes, also where it can only be renamed', async () => {
  const outside = tempDir('outside');
  execFileSync('git', ['init', '-q', outside]);
  for (const elsewhere of [null, '/dev/shm']) {
    const root = tempDir('protect');
    execFileSync('git', ['init', '-q', '--bare', join(root, 'bare')]);
    execFileSync('git', ['init', '-q', join(root, 'sub')]);
    mkdirSync(join(root, 'link'));
    symlinkSync(join(outside, '.git'), join(root, 'link/.git'));
    const to = elsewhere === null ? join(root, 'q') : join(tempDir('q', 0o700, elsewhere), 'q');
    const moved = await quarantine(root, ['bare', 'sub/.git', 'link/.git'], to);
    for (const { path, movedTo } of moved.filter(one => one.path !== 'link/.git')) {
      expect(existsSync(join(root, path))).toBe(false);
      const asked = spawnSync('git', ['config', 'core.bare'], {
        cwd: movedTo ?? '',
        env: { ...process.env, GIT_CEILING_DIRECTORIES: movedTo ?? '' },
      });
      expect([path, asked.stdout.toString()]).toEqual([path, '']);
    }
    expect(existsSync(join(outside, '.git/HEAD'))).toBe(true);
  }
});

it('what is found is moved away however much there is; that there is more is told', async () => {
  const root = tempDir('protect');
  const plan = await planProtection(root, { reveal: [], unlock: [] });
  const source = { kind: 'bind', source: root, at: '/w', writable: true, exec: true, protect: null } as const;
  const to = tempDir('quarantine');
  const guard = await guardWorkspaces(specOf(['true'], { mounts: [source] }), new Map([['/w', plan]]), join(to, 'q'));
  for (let count = 0; count < 600; count++) mkdirSync(join(root, `${count}/.vscode`), { recursive: true });
  mkdirSync(join(root, 'a/'.repeat(50)), { recursive: true });
  await guard.after();
  expect(guard.planted.filter(({ movedTo }) => movedTo !== null)).toHaveLength(600);
  expect(guard.planted.at(-1)).toEqual({ path: '.', movedTo: null });
  expect(existsSync(join(root, '599/.vscode'))).toBe(false);
});

it('moves away what was planted, and never through a link', async () => {
  const root = tempDir('protect');
  const outside = tempDir('outside');
  writeFileSync(join(outside, 'config'), 'precious');
  mkdirSync(join(root, 'sub'));
  const paths = ['.envrc', 'sub/config'];
  const before = await lookAt(root, paths);
  writeFileSync(join(root, '.envrc'), 'evil');
  execFileSync('rm', ['-r', join(root, 'sub')]);
  symlinkSync(outside, join(root, 'sub'));
  const planted = await findPlanted(root, paths, before);
  expect(planted).toEqual(paths);
  const moved = await quarantine(root, planted, join(root, 'q'));
  expect(moved).toEqual([
    { path: '.envrc', movedTo: join(root, 'q/0-.envrc') },
    { path: 'sub/config', movedTo: null },
  ]);
  expect(existsSync(join(root, '.envrc'))).toBe(false);
  expect(readFileSync(join(outside, 'config'), 'utf8')).toBe('precious');
  expect(['.envrc', '.git/commondir', 'sub/.git', '.git/info/attributes'].map(isSteady)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

it('a guarded name that is a link guards what it names', async () => {
  const root = tempDir('protect');
  mkdirSync(join(root, 'conf/editor'), { recursive: true });
  symlinkSync('conf/editor', join(root, '.vscode'));
  const plan = await planProtection(root, { reveal: [], unlock: [] });
  expect(plan.readOnly).toContain('conf/editor');
  expect(plan.hold).toContain('conf');
  expect(plan.absent).toContain('.vscode');
});

it.each(['.git', 'sub/.git'])('a git directory that may not be listed is hidden whole: %s', async git => {
  const root = tempDir('shut-git');
  mkdirSync(join(root, git, 'hooks'), { recursive: true });
  chmodSync(join(root, git), 0o300);
  const { hidden, readOnly } = await planProtection(root, { reveal: [], unlock: [] });
  chmodSync(join(root, git), 0o700);
  expect(hidden).toEqual([git]);
  expect(readOnly.filter(path => path.startsWith(git))).toEqual([]);
});
