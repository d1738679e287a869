import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Protection, run, type Sandbox, type SandboxMount } from '../../src/sandbox/index.ts';
import { attack, lines } from '../support/attack.ts';
import {
  BUBBLEWRAPS,
  DOCKER,
  DOCKER_SOCKET,
  ENGINES,
  engineDriver,
  makeStateDir,
  NOBODY,
  PODMAN,
  PODMAN_SOCKET,
  type Subject,
} from '../support/drivers.ts';
import { MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tidy } from '../support/temp.ts';

tidy();

const NONE: Protection = { reveal: [], unlock: [] };

for (const driver of [...BUBBLEWRAPS.filter(({ name }) => !/spare|without/.test(name)), ...ENGINES])
  describe.skipIf(driver.skip !== null)(`${driver.name}: a writable workspace (WS-10)`, () => {
    let subject: Subject;
    let sandbox: Sandbox;
    let workspace: string;
    const docker = !driver.hostRuntime;
    const owner = driver.name.includes('ordinary') ? NOBODY : docker ? 54_321 : (process.getuid?.() ?? 0);
    beforeAll(async () => {
      subject = await driver.make();
      sandbox = subject.sandbox;
    });
    afterAll(() => subject?.close());

    const write = (path: string, content: string) => {
      const full = join(workspace, path);
      mkdirSync(join(full, '..'), { recursive: true });
      writeFileSync(full, content);
    };
    beforeEach(() => {
      workspace = makeStateDir(owner);
      execFileSync('git', ['init', '-q', workspace]);
      execFileSync('git', ['init', '-q', join(workspace, 'sub')]);
      write('.vscode/tasks.json', '{}');
      write('.claude/settings.json', '{}');
      write('app/.vscode/tasks.json', '{}');
      write('app/src/main.ts', '');
      write('package.json', '{"name":"x"}');
      write('.env', 'TOKEN=env-secret');
      write('sub/.env.local', 'TOKEN=env-secret');
      write('deploy.pem', 'pem-secret');
      write('readme.md', 'hello');
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, workspace]);
    });
    const mounts = (protect: Protection | null, writable = true): SandboxMount[] => [
      ...MOUNTS,
      { kind: 'bind', source: workspace, at: '/workspace', writable, exec: true, protect },
    ];
    const snapshot = () =>
      execFileSync('bash', ['-c', 'find . -type f ! -path "*/objects/*" -exec sha256sum {} + | sort -k2'], {
        cwd: workspace,
        encoding: 'utf8',
      });

    it('nothing can be planted, nothing secret is read, ordinary work goes on', async () => {
      const before = snapshot();
      const outcome = await run(sandbox, attack('plant.sh', [], { mounts: mounts(NONE), cwd: '/workspace' }), QUIET);
      const said = new Map(lines(outcome).map(line => line.split(' ') as [string, string]));
      const done = [...said].filter(([, what]) => what === 'DONE').map(([name]) => name);
      // What did not exist cannot be held by a mount: it was made, seen, and moved away.
      expect(done.sort()).toEqual([
        ...(docker ? [] : ['commit']), // the image has no git
        'commondir',
        'envrc',
        'mcp',
        'new-bare',
        'new-claude',
        'new-common',
        'new-envrc',
        'new-git',
        'new-hook',
        'new-pointer',
        'normal',
        'ordinary',
        'plain-git',
        'skill',
      ]);
      expect(outcome.planted.map(({ path }) => path).sort()).toEqual([
        '.agents',
        '.envrc',
        '.git/commondir',
        '.mcp.json',
        'app/src/.envrc',
        'b',
        'c',
        'deep/er/.claude',
        'h/.git',
        'n/.git',
        'p/.git',
      ]);
      for (const path of ['ok/.git/config', 'new/.gitattributes', 'new/package.json'])
        expect(existsSync(join(workspace, path)), path).toBe(true);
      expect(outcome.planted.every(({ movedTo }) => movedTo !== null)).toBe(true);
      for (const path of ['.agents', '.envrc', '.mcp.json', '.git/commondir', 'suid'])
        if (path !== 'suid') expect(existsSync(join(workspace, path))).toBe(false);
      const after = snapshot();
      for (const line of before.split('\n')) if (!/\.git\/(index|HEAD|logs)/.test(line)) expect(after).toContain(line);
      expect(readFileSync(join(workspace, 'result.txt'), 'utf8')).toBe('fine\n');
      expect(statSync(join(workspace, 'result.txt')).uid).toBe(owner);
      expect(readdirSync(workspace).some(name => (statSync(join(workspace, name)).mode & 0o6000) !== 0)).toBe(false);
    });

    it('what is read-only is so to its depths, also where something in it is guarded by itself', async () => {
      for (const path of [
        'skills/foo/SKILL.md',
        '.claude/skills/x/SKILL.md',
        '.claude/skills/x/.mcp.json',
        'skills/bar/id_rsa',
      ])
        write(path, 'before\n');
      execFileSync('git', ['init', '-q', join(workspace, 'skills/foo')]);
      for (const name of ['.idea', '.zed']) symlinkSync('app', join(workspace, name));
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, workspace]);
      const script = `for f in skills/foo/SKILL.md skills/foo/new .claude/skills/x/SKILL.md .claude/skills/x/.mcp.json .claude/new skills/foo/.git/x skills/bar/new; do
        (echo after > $f) 2>/dev/null && echo "wrote $f"; done; mv skills/foo skills/moved 2>/dev/null && echo moved; cat skills/foo/SKILL.md skills/bar/id_rsa`;
      const spec = specOf(['bash', '-c', script], {
        mounts: mounts({ reveal: ['skills/bar/id_rsa'], unlock: [] }),
        cwd: '/workspace',
      });
      const outcome = await run(sandbox, spec, QUIET);
      expect(text(outcome)).toBe('before\nbefore\n');
    });

    it('of what is protected or hidden as a whole a part can be granted, and is all that is', async () => {
      write('.ssh/config', 'given\n');
      write('.ssh/id_rsa', 'secret\n');
      write('skills/foo/SKILL.md', 'before\n');
      write('skills/foo/id_rsa', 'given\n');
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, workspace]);
      const files = ['.vscode/tasks.json', 'skills/foo/id_rsa'];
      const script = `cat .ssh/config .ssh/id_rsa skills/foo/id_rsa; for f in .ssh/config .ssh/rc .vscode/new ${files.join(' ')} skills/foo/SKILL.md; do
        (echo after >> $f) 2>/dev/null && echo "wrote $f"; done`;
      const protect = { reveal: ['.ssh/config', ...files], unlock: files };
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', script], { mounts: mounts(protect), cwd: '/workspace' }),
        QUIET,
      );
      expect(text(outcome)).toBe('given\ngiven\nwrote .vscode/tasks.json\nwrote skills/foo/id_rsa\n');
      for (const path of files) expect(readFileSync(join(workspace, path), 'utf8')).toMatch(/after\n$/);
    });

    it('a guarded name that is a link to what is not there yet is guarded where it leads', async () => {
      symlinkSync('conf/idea', join(workspace, '.idea'));
      symlinkSync('.zed', join(workspace, '.zed'));
      symlinkSync('not/there', join(workspace, '.helix'));
      symlinkSync('../conf/mcp.json', join(workspace, 'app/.mcp.json'));
      mkdirSync(join(workspace, 'conf'));
      if (process.getuid?.() === 0) execFileSync('chown', ['-hR', `${owner}:${owner}`, workspace]);
      const script =
        'mkdir conf/idea && echo x > conf/idea/workspace.xml; echo x > conf/mcp.json; echo x > conf/other; mv conf moved 2>/dev/null; ls conf';
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', script], { mounts: mounts(NONE), cwd: '/workspace' }),
        QUIET,
      );
      expect(text(outcome)).toBe('idea\nmcp.json\nother\n');
      expect(outcome.planted.map(({ path }) => path).sort()).toEqual(['conf/idea', 'conf/mcp.json']);
      expect(readdirSync(join(workspace, 'conf'))).toEqual(['other']);
    });

    it('a folder that nobody may list is the run’s neither, and what a run shuts behind itself is found in it', async () => {
      write('own/shut/.env', 'TOKEN=env-secret');
      write('own/half/.vscode/tasks.json', '{}');
      write('theirs/server.key', 'pem-secret');
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, join(workspace, 'own')]);
      chmodSync(join(workspace, 'own/shut'), 0o300);
      chmodSync(join(workspace, 'own/half'), 0o600);
      // As the data of a database often lies.
      chmodSync(join(workspace, 'theirs'), 0o700);
      const script = `chmod -R 700 own; cat own/shut/.env theirs/server.key; echo planted > own/half/.vscode/tasks.json
        for mode in 000 300 600; do mkdir -p new/$mode/.vscode; echo '{}' > new/$mode/.vscode/tasks.json; chmod $mode new/$mode; done
        mkdir -p new/ro/.claude; chmod 500 new/ro/.claude new/ro
        echo x > .git/commondir; chmod 000 .git
        echo x > .envrc; chmod 000 .; echo done`;
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', script], { mounts: mounts(NONE), cwd: '/workspace' }),
        QUIET,
      );
      expect(text(outcome)).toBe('done\n');
      expect(readFileSync(join(workspace, 'own/half/.vscode/tasks.json'), 'utf8')).toBe('{}');
      const shut = ['000', '300', '600'].map(mode => `new/${mode}/.vscode`);
      const planted = ['.envrc', '.git/commondir', ...shut, 'new/ro/.claude'];
      expect(outcome.planted.map(({ path }) => path).sort()).toEqual(planted);
      expect(outcome.planted.every(({ movedTo }) => movedTo?.startsWith(subject.stateDir))).toBe(true);
      for (const path of planted) expect(existsSync(join(workspace, path)), path).toBe(false);
    });

    it('what was granted is readable and writable', async () => {
      const protect = { reveal: ['.env'], unlock: ['package.json'] };
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', 'cat .env; echo; echo "{}" > package.json && echo written'], {
          mounts: mounts(protect),
          cwd: '/workspace',
        }),
        QUIET,
      );
      expect(text(outcome)).toBe('TOKEN=env-secret\nwritten\n');
    });

    it('a read-only workspace stays as it is, and hides the same', async () => {
      const before = snapshot();
      const script =
        'cat readme.md; cat .env; cat deploy.pem; echo x > y; echo x > readme.md; rm readme.md; mkdir .idea';
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', script], { mounts: mounts(NONE, false), cwd: '/workspace' }),
        QUIET,
      );
      expect(text(outcome)).toBe('hello');
      expect(snapshot()).toBe(before);
    });

    it.skipIf(docker)('what lies in a tmpfs has no second, open door where it was held until then', async () => {
      writeFileSync(join(workspace, 'tool'), '#!/bin/sh\necho ran\n', { mode: 0o755 });
      const inside = mounts(NONE).map(mount =>
        mount.kind === 'bind' ? { ...mount, at: '/tmp/work', exec: false } : mount,
      );
      const script =
        'cat /tmp/work/readme.md; for at in /tmp/work /.skillbox/held/*; do cat $at/.env; $at/tool; echo x > $at/.git/config; done';
      const before = snapshot();
      const outcome = await run(sandbox, specOf(['bash', '-c', script], { mounts: inside }), QUIET);
      expect(text(outcome)).toBe('hello');
      expect(snapshot()).toBe(before);
    });

    it.skipIf(docker)('a folder in it that becomes a link leads a mount nowhere, least of all over PID 1', async () => {
      const source = makeStateDir(owner);
      writeFileSync(join(source, 'helper'), '#!/bin/sh\necho error replaced >&3\n', { mode: 0o755 });
      const at = join(workspace, 'inner');
      const inner: SandboxMount = {
        kind: 'bind',
        source,
        at: '/workspace/inner',
        writable: false,
        exec: true,
        protect: null,
      };
      for (const target of ['../.skillbox', '/newroot/.skillbox', '../etc']) {
        mkdirSync(at);
        if (process.getuid?.() === 0) chownSync(at, owner, owner);
        const spec = specOf(['bash', '-c', 'cat /etc/passwd'], { mounts: [...mounts(NONE), inner] });
        const handle = await sandbox.prepare(spec);
        renameSync(at, join(makeStateDir(owner), 'inner'));
        symlinkSync(target, at);
        const said = await handle.start(QUIET).then(
          outcome => text(outcome),
          (error: Error) => error.message,
        );
        await handle.dispose();
        unlinkSync(at);
        expect(said, target).toMatch(/did not start/);
        expect(said, target).not.toContain('replaced');
      }
    });

    it('a run without the protection, or with a tree too large for it, says so or is refused', async () => {
      const open = await run(sandbox, specOf(['true'], { mounts: mounts(null) }), QUIET);
      expect(open.held.get('workspace')).toBe('none');
      mkdirSync(join(workspace, 'd/'.repeat(50)), { recursive: true });
      const deep = specOf(['true'], { mounts: mounts(NONE), requires: new Map([['workspace', 'polled']]) });
      await expect(run(sandbox, deep, QUIET)).rejects.toMatchObject({ code: 'SANDBOX_CANNOT_ENFORCE' });
    });

    it('a link that points out of it leads nowhere', async () => {
      writeFileSync(join(subject.stateDir, 'secret'), 'secret');
      symlinkSync(join(subject.stateDir, 'secret'), join(workspace, 'out-link'));
      symlinkSync(subject.stateDir, join(workspace, 'state-link'));
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', 'cat out-link; ls state-link/'], { mounts: mounts(NONE), cwd: '/workspace' }),
        QUIET,
      );
      expect(text(outcome)).toBe('');
    });

    it('WS-10 what a repository has elsewhere in the project cannot be changed or planted there', async () => {
      const config = (key: string, value: string, at = '.git/config') =>
        execFileSync('git', ['config', '--file', join(workspace, at), key, value]);
      const kept = ['tools/pre-commit', '.githooks/pre-push', 'scripts/watch.sh', 'shared.conf', 'bin/clean'];
      for (const path of kept) write(path, 'exit 0\n');
      symlinkSync('../../tools/pre-commit', join(workspace, '.git/hooks/pre-commit'));
      config('core.hooksPath', '.githooks');
      config('core.fsmonitor', 'scripts/watch.sh');
      config('include.path', '../shared.conf');
      config('filter.x.clean', '"bin/clean" %f');
      config('alias.x', '!later/alias.sh');
      config('core.hooksPath', 'later', 'sub/.git/config');
      write('tools/other', 'work\n');
      if (process.getuid?.() === 0) execFileSync('chown', ['-Rh', `${owner}:${owner}`, workspace]);
      const script = [
        ...kept.map(path => `echo evil >> ${path} && echo ${path}`),
        'echo evil > .githooks/post-merge && echo new-hook',
        'mv tools aside && echo moved',
        'rm -rf tools/pre-commit && echo gone',
        'echo more >> tools/other && echo ordinary',
        'mkdir sub/later && echo evil > sub/later/pre-commit && echo planted',
      ].join('; ');
      const argv = ['bash', '-c', `{ ${script}; } 2>/dev/null`];
      const outcome = await run(sandbox, specOf(argv, { mounts: mounts(NONE), cwd: '/workspace' }), QUIET);
      expect(text(outcome).trim().split('\n')).toEqual(['ordinary', 'planted']);
      for (const path of kept) expect(readFileSync(join(workspace, path), 'utf8'), path).toBe('exit 0\n');
      expect(outcome.planted.map(({ path }) => path)).toEqual(['sub/later']);
      expect(existsSync(join(workspace, 'sub/later'))).toBe(false);
    });

    it('WS-10 in a worktree the next commit executes nothing that the run wrote', async () => {
      const git = (at: string, ...words: string[]) =>
        execFileSync(
          'git',
          ['-c', 'safe.directory=*', '-c', 'user.name=a', '-c', 'user.email=a@b.c', '-C', at, ...words],
          {
            stdio: 'pipe',
          },
        );
      const tree = join(makeStateDir(owner), 'tree');
      const base = workspace;
      git(base, 'commit', '-q', '--allow-empty', '-m', 'first');
      git(base, 'worktree', 'add', '-q', tree);
      workspace = tree;
      git(base, 'config', 'core.hooksPath', '.husky');
      git(base, 'config', 'include.path', join(tree, 'team.conf'));
      write('team.conf', '[core]\n\tfsmonitor = bin/watch\n');
      write('bin/watch', 'exit 1\n');
      write('tools/check', 'exit 0\n');
      mkdirSync(join(tree, '.husky'));
      symlinkSync('../tools/check', join(tree, '.husky/pre-commit'));
      execFileSync('chmod', ['-R', 'a+x', join(tree, 'tools'), join(tree, 'bin')]);
      if (process.getuid?.() === 0) execFileSync('chown', ['-Rh', `${owner}:${owner}`, tree]);
      const evil = (path: string) =>
        `printf '#!/bin/sh\\n: > ${tree}/executed\\n' > ${path} && chmod +x ${path} && echo ${path}`;
      const script = ['.husky/post-commit', 'tools/check', 'bin/watch', 'notes'].map(evil).join('; ');
      const argv = ['bash', '-c', `{ ${script}; echo '[core] fsmonitor = notes' >> team.conf; } 2>/dev/null`];
      const outcome = await run(sandbox, specOf(argv, { mounts: mounts(NONE), cwd: '/workspace' }), QUIET);
      expect(text(outcome)).toBe('notes\n');
      git(tree, 'commit', '-q', '--allow-empty', '-m', 'second');
      expect(existsSync(join(tree, 'executed'))).toBe(false);
    });

    it('WS-10 a rebase that waits with a command in its steps is not left behind', async () => {
      const at = '.git/rebase-merge';
      const plant = `mkdir -p ${at} && echo 'exec true' > ${at}/git-rebase-todo && echo planted`;
      const spec = () => specOf(['bash', '-c', `{ ${plant}; } 2>&1`], { mounts: mounts(NONE), cwd: '/workspace' });
      const outcome = await run(sandbox, spec(), QUIET);
      expect(text(outcome)).toBe('planted\n');
      expect(outcome.planted.map(({ path }) => path)).toEqual([at]);
      expect(existsSync(join(workspace, at))).toBe(false);
      write(`${at}/git-rebase-todo`, 'pick 1234567 a\n');
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, join(workspace, at)]);
      expect(text(await run(sandbox, spec(), QUIET))).toMatch(/read-only file system/i);
      expect(readFileSync(join(workspace, at, 'git-rebase-todo'), 'utf8')).toBe('pick 1234567 a\n');
    });

    it('WS-10 what was granted is shown or unlocked, and nothing beside it', async () => {
      const notes = makeStateDir(owner);
      for (const name of ['a.txt', '.env', '.vscode']) writeFileSync(join(notes, name), 'note\n');
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, notes]);
      const given = (writable: boolean): SandboxMount => ({
        kind: 'bind',
        source: notes,
        at: '/given/notes',
        writable,
        exec: false,
        protect: NONE,
      });
      const touch = (path: string) => `(echo more >> ${path}) 2>/dev/null && echo wrote ${path}`;
      const paths = ['.env', '.vscode/tasks.json', '.claude/settings.json', 'package.json', 'deploy.pem'];
      const script = [
        'cat .env deploy.pem 2>/dev/null',
        ...paths.map(touch),
        'cat /given/notes/a.txt; cat /given/notes/.env 2>/dev/null',
        ...['a.txt', '.env', '.vscode'].map(name => touch(`/given/notes/${name}`)),
        'true',
      ].join('; ');
      const report = async (protect: Protection, writable: boolean) => {
        const all = [...mounts(protect), given(writable)];
        const spec = specOf(['bash', '-c', script], { mounts: all, cwd: '/workspace' });
        return text(await run(sandbox, spec, QUIET))
          .trim()
          .split('\n');
      };
      expect(await report({ reveal: ['.env'], unlock: [] }, false)).toEqual(['TOKEN=env-secretnote']);
      expect(await report({ reveal: ['.vscode'], unlock: ['.vscode'] }, true)).toEqual([
        'wrote .vscode/tasks.json',
        'note',
        'wrote /given/notes/a.txt',
      ]);
      const written = await report({ reveal: ['.env'], unlock: ['.env'] }, false);
      expect(written).toEqual(['TOKEN=env-secretwrote .env', 'note', 'more']);
      expect(readFileSync(join(notes, '.env'), 'utf8')).toBe('note\n');
    });

    it('WS-09 a socket of the host that lies in the workspace is not reached', async () => {
      const places = ['app.sock', 'app/src/daemon.sock', '.git/fsmonitor--daemon.ipc', 'sub/.git/ipc'];
      const servers = places.map(place => createServer(socket => socket.end('host')).listen(join(workspace, place)));
      try {
        await Promise.all(servers.map(server => new Promise(resolve => server.once('listening', resolve))));
        for (const place of places) chmodSync(join(workspace, place), 0o777);
        if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, workspace]);
        const program = `
import os, socket
for place in ${JSON.stringify(places)}:
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(place); print(place, s.recv(9))
    except OSError: print('shut')
own = socket.socket(socket.AF_UNIX); own.bind('own.sock'); own.listen()
client = socket.socket(socket.AF_UNIX); client.connect('own.sock'); print('own')`;
        // Also when the folder that it lies in is given.
        const given = { reveal: ['app', '.git'], unlock: ['app', '.git'] };
        for (const [protect, writable] of [
          [NONE, true],
          [NONE, false],
          [given, true],
        ] as const) {
          const spec = specOf(['python3', '-c', program], { mounts: mounts(protect, writable), cwd: '/workspace' });
          const outcome = await run(sandbox, spec, QUIET);
          expect(text(outcome).trim().split('\n')).toEqual([...places.map(() => 'shut'), ...(writable ? ['own'] : [])]);
          rmSync(join(workspace, 'own.sock'), { force: true });
        }
        expect(places.every(place => statSync(join(workspace, place)).isSocket())).toBe(true);
      } finally {
        for (const server of servers) server.close();
      }
    });

    it('a guarded name that is a link is not followed by us', async () => {
      mkdirSync(join(workspace, 'elsewhere'));
      symlinkSync('elsewhere', join(workspace, '.idea'));
      if (process.getuid?.() === 0) chownSync(join(workspace, 'elsewhere'), owner, owner);
      const outcome = await run(
        sandbox,
        specOf(['bash', '-c', 'rm .idea && mkdir .idea && echo evil > .idea/x && echo made'], {
          mounts: mounts(NONE),
          cwd: '/workspace',
        }),
        QUIET,
      );
      expect(outcome.planted.map(({ path }) => path)).toEqual(['.idea']);
      expect(existsSync(join(workspace, '.idea'))).toBe(false);
    });

    it('a source that is a link is refused', async () => {
      const link = join(makeStateDir(owner), 'link');
      symlinkSync(workspace, link);
      await expect(
        run(
          sandbox,
          specOf(['true'], {
            mounts: [{ kind: 'bind', source: link, at: '/workspace', writable: true, exec: true, protect: NONE }],
          }),
          QUIET,
        ),
      ).rejects.toMatchObject({ code: 'INTERNAL' });
    });
  });

/**
 * Two runs of one author: one may write to a folder, the other works in a folder below it. The first turns the second's
 * workspace into a link that leads out, after it was looked at and before it is mounted.
 */
for (const driver of [...BUBBLEWRAPS.filter(({ name }) => !/spare|without|warm/.test(name)), ...ENGINES])
  describe.skipIf(driver.skip !== null)(`${driver.name}: a workspace that is swapped for a link`, () => {
    const owner = driver.name.includes('ordinary') ? NOBODY : driver.hostRuntime ? (process.getuid?.() ?? 0) : 54_321;
    const layOut = () => {
      const place = makeStateDir(owner);
      for (const name of ['workspace', 'elsewhere']) mkdirSync(join(place, name));
      writeFileSync(join(place, 'elsewhere/private.txt'), 'not for skills', { mode: 0o644 });
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', `${owner}:${owner}`, place]);
      return { place, source: join(place, 'workspace') };
    };
    const prepare = (subject: Subject, source: string, script: string) => {
      const mount = { kind: 'bind', source, at: '/workspace', writable: true, exec: true, protect: NONE } as const;
      return subject.sandbox.prepare(specOf(['bash', '-c', script], { mounts: [...MOUNTS, mount] }));
    };

    it('WS-10 after it was looked at: the run does not start, and nothing else is mounted', async () => {
      const subject = await driver.make();
      const { place, source } = layOut();
      const handle = await prepare(subject, source, 'cat /workspace/*; touch /workspace/planted');
      try {
        renameSync(source, `${source}-moved`);
        symlinkSync('elsewhere', source);
        await expect(handle.start(QUIET)).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
        expect(existsSync(join(place, 'elsewhere/planted'))).toBe(false);
      } finally {
        await handle.dispose();
        await subject.close();
      }
    });

    it('WS-10 a folder in its place is not the one that was judged either', async () => {
      const subject = await driver.make();
      const { place, source } = layOut();
      const handle = await prepare(subject, source, 'touch /workspace/planted');
      try {
        renameSync(source, `${source}-moved`);
        renameSync(join(place, 'elsewhere'), source);
        await expect(handle.start(QUIET)).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
        expect(existsSync(join(source, 'planted'))).toBe(false);
      } finally {
        await handle.dispose();
        await subject.close();
      }
    });

    it.each(['.vscode', '.env'])('WS-10 %s in it becomes a link: what it leads to is not shown', async name => {
      const subject = await driver.make();
      const { place, source } = layOut();
      if (name === '.env') writeFileSync(join(source, name), 'TOKEN=env-secret', { mode: 0o644 });
      else mkdirSync(join(source, name));
      const handle = await prepare(subject, source, `cat /workspace/${name}/private.txt /workspace/${name}; true`);
      try {
        renameSync(join(source, name), join(place, 'aside'));
        symlinkSync(join(place, 'elsewhere'), join(source, name));
        const shown = await handle.start(QUIET).then(text, (error: { code: string }) => error.code);
        // Under bubblewrap the link stands where it stands, and leads nowhere.
        expect(['', 'SANDBOX_FAILED']).toContain(shown);
        if (!driver.hostRuntime) expect(shown).toBe('SANDBOX_FAILED');
      } finally {
        await handle.dispose();
        await subject.close();
      }
    });
  });

/** An engine that does something of its own when it has started a container, before it says so. */
async function inTheMiddle(engine: string, onStarted: () => void): Promise<{ socket: string; close(): void }> {
  const socket = join(makeStateDir(process.getuid?.() ?? 0), 'engine.sock');
  const server = createServer({ allowHalfOpen: true }, client => {
    const behind = connect({ path: engine, allowHalfOpen: true });
    let starts = false;
    client.on('data', chunk => {
      starts ||= /^POST \S+\/start /.test(chunk.toString('latin1'));
      behind.write(chunk);
    });
    behind.on('data', chunk => {
      if (starts) onStarted();
      starts = false;
      client.write(chunk);
    });
    client.on('end', () => behind.end());
    behind.on('end', () => client.end());
    client.on('error', () => behind.destroy());
    behind.on('error', () => client.destroy());
  });
  await new Promise<void>(resolve => server.listen(socket, resolve));
  return { socket, close: () => server.close() };
}

for (const [driver, engine] of [
  [DOCKER, DOCKER_SOCKET],
  [PODMAN, PODMAN_SOCKET],
] as const)
  describe.skipIf(driver.skip !== null)(`${driver.name}: a link that stands in the workspace for a moment only`, () => {
    it('WS-10 a guard that was mounted elsewhere is missed, though all is in its place again', async () => {
      const place = makeStateDir(54_321);
      const source = join(place, 'workspace');
      for (const name of ['workspace', 'workspace/.vscode', 'workspace/decoy']) mkdirSync(join(place, name));
      if (process.getuid?.() === 0) execFileSync('chown', ['-R', '54321:54321', place]);
      const guarded = join(source, '.vscode');
      const between = await inTheMiddle(engine, () => {
        if (!existsSync(join(place, 'aside'))) return; // the driver's own probe
        unlinkSync(guarded);
        renameSync(join(place, 'aside'), guarded);
      });
      const subject = await engineDriver(driver.name, between.socket, null, null).make();
      const mount = { kind: 'bind', source, at: '/workspace', writable: true, exec: true, protect: NONE } as const;
      const spec = specOf(['touch', '/workspace/.vscode/tasks.json'], { mounts: [...MOUNTS, mount] });
      const handle = await subject.sandbox.prepare(spec);
      try {
        renameSync(guarded, join(place, 'aside'));
        symlinkSync('decoy', guarded);
        await expect(handle.start(QUIET)).rejects.toMatchObject({
          code: 'SANDBOX_FAILED',
          message: expect.stringContaining('/workspace/.vscode is not what was judged'),
        });
        expect(readdirSync(guarded)).toEqual([]);
      } finally {
        await handle.dispose();
        await subject.close();
        between.close();
      }
    });
  });
