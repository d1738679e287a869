import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHelper } from '../../src/sandbox/helper.ts';
import { createBubblewrap, run, type Sandbox, type SandboxMount } from '../../src/sandbox/index.ts';
import { attack, binMount, lines } from '../support/attack.ts';
import { BUBBLEWRAPS, ENGINES, makeStateDir, optionsFor, type Subject } from '../support/drivers.ts';
import { MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SYSCTLS = [
  'kernel/core_pattern',
  'kernel/hostname',
  'kernel/panic',
  'vm/drop_caches',
  'net/ipv4/ip_forward',
  'user/max_user_namespaces',
];

for (const driver of [...BUBBLEWRAPS, ...ENGINES])
  describe.skipIf(driver.skip !== null)(`${driver.name}: kernel and namespaces`, () => {
    // The engine makes its own /dev, and its binds cannot be noexec.
    const docker = !driver.hostRuntime;
    let subject: Subject;
    let sandbox: Sandbox;
    beforeAll(async () => {
      subject = await driver.make();
      sandbox = subject.sandbox;
    });
    afterAll(() => subject?.close());
    const sh = (script: string, changes: Parameters<typeof specOf>[1] = {}) => specOf(['bash', '-c', script], changes);

    it('no capability in any set, no new privileges, a filter, in the program and its children', async () => {
      const outcome = await run(sandbox, sh('(grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status)'), QUIET);
      expect(lines(outcome).map(line => line.replace(/\s+/, ' '))).toEqual([
        'CapInh: 0000000000000000',
        'CapPrm: 0000000000000000',
        'CapEff: 0000000000000000',
        'CapBnd: 0000000000000000',
        'CapAmb: 0000000000000000',
        'NoNewPrivs: 1',
        'Seccomp: 2',
      ]);
    });

    it('nested namespaces', async () => {
      const outcome = await run(
        sandbox,
        sh(
          'unshare -U true; echo $?; unshare -r true; echo $?; bwrap --ro-bind / / true; echo $?; chroot / true; echo $?',
        ),
        QUIET,
      );
      expect(lines(outcome).some(line => line === '0')).toBe(false);
    });

    it('set-uid programs give nothing', async () => {
      const outcome = await run(
        sandbox,
        sh('su -c id root < /dev/null; mount -o remount,rw /usr; passwd -S root; echo end'),
        QUIET,
      );
      expect(text(outcome)).not.toContain('uid=0');
    });

    it('/proc, /sys and /dev cannot be written to', async () => {
      const paths = [
        ...SYSCTLS.map(name => `/proc/sys/${name}`),
        '/proc/sysrq-trigger',
        '/proc/kcore',
        '/dev/mem',
        '/dev/kmsg',
        '/dev/vda',
        '/dev/sda',
        '/sys/kernel/uevent_helper',
        '/proc/irq/default_smp_affinity',
      ];
      const values = () => SYSCTLS.slice(0, 3).map(name => readFileSync(`/proc/sys/${name}`, 'utf8'));
      const before = values();
      const outcome = await run(sandbox, attack('open-for-writing.py', paths), QUIET);
      expect(lines(outcome).length).toBe(paths.length);
      expect(text(outcome)).not.toContain('OPEN');
      expect(values()).toEqual(before);
    });

    it.skipIf(docker)(
      'what /proc tells of the machine is hidden, and no user namespace could be made inside',
      async () => {
        const hidden = ['keys', 'key-users', 'timer_list', 'cmdline', 'kallsyms', 'kcore', 'kmsg'];
        const script = `for name in ${hidden.join(' ')}; do head -c 9 /proc/$name 2>/dev/null && echo "READ $name"; done
        cat /proc/sys/user/max_user_namespaces
        for at in sys irq bus fs; do grep -E " /proc/$at ro" /proc/self/mountinfo | cut -d ' ' -f 5; done`;
        const outcome = await run(sandbox, sh(script), QUIET);
        expect(lines(outcome)).toEqual(['0', '/proc/sys', '/proc/irq', '/proc/bus', '/proc/fs']);
      },
    );

    it.skipIf(docker)('devices are the six harmless ones', async () => {
      const outcome = await run(
        sandbox,
        sh('ls /dev; mknod /tmp/d c 1 3 && echo MADE; mkfifo /tmp/f && echo fifo; ls /sys 2>/dev/null'),
        QUIET,
      );
      expect(lines(outcome)).toEqual([
        'fd',
        'full',
        'null',
        'random',
        'shm',
        'stderr',
        'stdin',
        'stdout',
        'tty',
        'urandom',
        'zero',
        'fifo',
      ]);
    });

    it.skipIf(docker)('no mount has a power that it does not need', async () => {
      const skill: SandboxMount = {
        kind: 'bind',
        source: tempDir('skill'),
        at: '/sandbox/scripts',
        writable: false,
        exec: true,
        protect: null,
      };
      const workspace: SandboxMount = { ...skill, source: tempDir('workspace'), at: '/workspace', writable: true };
      const text: SandboxMount = { kind: 'text', at: '/sandbox/input.json', text: '{}' };
      const mounts = [...MOUNTS, skill, workspace, text];
      const outcome = await run(
        sandbox,
        sh('cut -d " " -f 5,6 /proc/self/mountinfo; test -w /sandbox/input.json', { mounts }),
        QUIET,
      );
      const seen = lines(outcome).map(line => line.split(' '));
      const without = (flag: string) =>
        seen.filter(([, flags = '']) => !flags.split(',').includes(flag)).map(([at = '']) => at);
      const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map(name => `/dev/${name}`);
      expect(seen.map(([at]) => at)).toEqual(
        expect.arrayContaining(['/', '/usr', '/etc', '/sandbox/scripts', ...devices]),
      );
      expect(without('nosuid')).toEqual([]);
      expect(without('nodev').sort()).toEqual([...devices].sort());
      const written = ['/proc', '/dev/shm', '/workspace', ...MOUNTS.map(({ at }) => at)];
      expect(without('ro').sort()).toEqual([...new Set([...devices, ...written])].sort());
      expect(outcome.end).toEqual({ kind: 'exited', code: 1 });
    });

    it('host processes are not seen', async () => {
      const outcome = await run(sandbox, sh('ls -d /proc/[0-9]* | wc -l; ps -e 2>/dev/null | wc -l'), QUIET);
      expect(Number(lines(outcome)[0])).toBeLessThan(6);
    });

    it('no file descriptor but the three streams', async () => {
      const outcome = await run(sandbox, sh('ls /proc/self/fd'), QUIET);
      expect(lines(outcome)).toEqual(['0', '1', '2', '3']); // 3 is ls's own
    });

    it('sockets of the host: none by path, none abstract', async () => {
      const abstract = `skillbox-test-${process.pid}-${Math.random()}`;
      const server = createServer().listen(`\0${abstract}`);
      const tcp = createServer().listen(0, '127.0.0.1');
      await new Promise(resolve => tcp.once('listening', resolve));
      const address = tcp.address();
      try {
        const port = typeof address === 'object' && address !== null ? address.port : 0;
        const outcome = await run(sandbox, attack('network.py', [String(port), abstract]), QUIET);
        expect(text(outcome)).not.toContain('CONNECTED');
        expect(lines(outcome).at(-1)).toBe("interfaces ['lo']");
        const found = await run(
          sandbox,
          sh(
            'find / -xdev -type s 2>/dev/null; ls /run /var/run 2>/dev/null; ls -d /run/docker.sock /run/dbus /run/user "$SSH_AUTH_SOCK" 2>/dev/null; echo end',
          ),
          QUIET,
        );
        expect(text(found)).not.toMatch(/sock|dbus|user/);
      } finally {
        server.close();
        tcp.close();
      }
    });

    it('only the socket that was granted, and only in its place', async () => {
      const directory = makeStateDir(65534);
      const socket = join(directory, 'proxy.sock');
      const server = createServer(connection => connection.end('proxy says hello')).listen(socket);
      await new Promise(resolve => server.once('listening', resolve));
      try {
        const script =
          'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/sandbox/net/proxy.sock"); print(s.recv(100).decode())';
        chmodSync(socket, 0o666);
        subject.give(socket);
        const outcome = await run(
          sandbox,
          specOf(['python3', '-c', script], { network: { kind: 'egress', socket, at: '/sandbox/net/proxy.sock' } }),
          QUIET,
        );
        expect(text(outcome)).toBe('proxy says hello\n');
        const without = await run(sandbox, specOf(['python3', '-c', script]), QUIET);
        expect(without.end).toEqual({ kind: 'exited', code: 1 });
      } finally {
        server.close();
      }
    });

    it('runs share neither /tmp, /dev/shm, SysV memory nor message queues', async () => {
      const write = sh(
        'echo secret > /tmp/shared; echo secret > /dev/shm/shared; ipcmk -M 1000 >/dev/null 2>&1; sleep 1; echo end',
      );
      const read = sh('sleep 0.3; ls -A /tmp /dev/shm; ipcs -m 2>/dev/null | grep -c 0x');
      const [, seen] = await Promise.all([run(sandbox, write, QUIET), run(sandbox, read, QUIET)]);
      expect(text(seen)).toBe('/dev/shm:\n\n/tmp:\n0\n');
    });

    it.skipIf(!driver.hostRuntime)('the interpreters people use work under the filter', async () => {
      const script = `set -e
        python3 -c 'import threading, subprocess, ssl, sqlite3, asyncio, multiprocessing.pool as p; t = threading.Thread(target=print, args=("thread",)); t.start(); t.join(); print(subprocess.check_output(["echo", "sub"]).decode().strip()); print(p.ThreadPool(2).map(abs, [-1])); print(asyncio.run(asyncio.sleep(0, "async")))'
        python3 -c 'import tempfile, shutil, os; d = tempfile.mkdtemp(); os.symlink("a", d + "/l"); open(d + "/a", "w").write("x"); os.chmod(d + "/a", 0o600); shutil.rmtree(d); print("files")'
        node -e 'const { Worker } = require("worker_threads"); new Worker("require(\\"worker_threads\\").parentPort.postMessage(1)", { eval: true }).on("message", () => require("child_process").execFile("echo", ["x"], (e, out) => console.log("node", out.trim())))'
        git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l
        git --version | cut -d' ' -f1-2`;
      const outcome = await run(
        sandbox,
        sh(script, { runtime: { kind: 'host', also: ['node'] }, limits: { memoryBytes: 512 * 1024 * 1024 } }),
        QUIET,
      );
      expect(outcome.stderr.text.toString()).toBe('');
      expect(lines(outcome)).toEqual(['thread', 'sub', '[1]', 'async', 'files', 'node x', '1', 'git version']);
    });

    it.skipIf(!driver.hostRuntime)('pip and npm install under the filter', async () => {
      const changes = {
        limits: { memoryBytes: 512 << 20, timeMs: 30_000 },
        mounts: [
          { kind: 'tmpfs', at: '/tmp', bytes: 64 << 20 },
          { kind: 'tmpfs', at: '/root', bytes: 8 << 20 },
        ] satisfies SandboxMount[],
      };
      const outcome = await run(sandbox, attack('install.sh', [], changes), QUIET);
      expect(outcome.stderr.text.toString()).toBe('');
      expect(lines(outcome)).toEqual(['pip 42', 'npm 7']);
    });

    it.skipIf(docker)('a program from a bind that may not run, does not', async () => {
      const bin = binMount();
      if (bin.kind !== 'bind') throw new Error('not a bind');
      const outcome = await run(
        sandbox,
        specOf(['/attack-bin/syscalls'], { mounts: [...MOUNTS, { ...bin, exec: false }] }),
        QUIET,
      );
      expect(outcome.end).toEqual({ kind: 'exited', code: 126 });
    });
  });

describe.skipIf(BUBBLEWRAPS[0]?.skip !== null)(
  'the sandbox itself is missing, too old or forbidden: refused, never without',
  () => {
    // Not in /tmp, which the launcher covers in its own mount namespace.
    const place = () => tempDir('fake', 0o755, '/var/tmp');
    const fake = (text: string) => {
      const path = join(place(), 'program');
      writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return path;
    };
    const refused = async (changes: object, what: RegExp) => {
      const sandbox = createBubblewrap({ ...optionsFor(makeStateDir(process.getuid?.() ?? 0)), ...changes });
      const problems = await sandbox.check();
      expect(problems.find(problem => problem.fatal)?.what).toMatch(what);
      expect(problems.find(problem => problem.fatal)?.fix).not.toBe('');
      await expect(sandbox.prepare(specOf(['true']))).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
      expect(sandbox.enforces.size).toBe(0);
    };

    it('no bwrap', () => refused({ bwrap: '/nowhere/bwrap' }, /not installed/));
    it('no helper', () => refused({ helper: '/nowhere/helper' }, /helper is not there/));
    it('another helper', () => refused({ helper: fake('echo skillbox-helper 0') }, /another version/));
    it('an old bwrap', () => refused({ bwrap: fake('echo bubblewrap 0.4.1') }, /too old/));
    it('a bwrap that is not allowed to', () =>
      refused(
        {
          bwrap: fake(
            'case $1 in --version) echo bubblewrap 0.8.0;; *) echo "No permissions to create new namespace" >&2; exit 1;; esac',
          ),
        },
        /No permissions to create new namespace/,
      ));
    it('a bwrap that runs the program without isolating it', async () => {
      const helper = join(place(), 'helper');
      copyFileSync(findHelper() ?? '', helper);
      await refused(
        { bwrap: fake(`case $1 in --version) echo bubblewrap 0.8.0;; *) exec ${helper} init;; esac`) },
        /probe did not start/,
      );
    });
  },
);

describe.skipIf(BUBBLEWRAPS[0]?.skip !== null)('a descriptor that the runtime itself inherited', () => {
  it('does not reach the run, though exec would pass it on', async () => {
    const stateDir = makeStateDir(process.getuid?.() ?? 0);
    const secret = join(tempDir('secret'), 'secret');
    writeFileSync(secret, 'secret');
    // A shell gives it to node without CLOEXEC. Node closes only the low ones at its start, so it is a high one.
    const child = fileURLToPath(new URL('../support/leaky-run.ts', import.meta.url));
    const script = 'exec 200< "$1"; exec "$2" "$3" "$4"';
    const said = execFileSync(
      'bash',
      ['-c', script, 'bash', secret, process.execPath, child, JSON.stringify(optionsFor(stateDir))],
      {
        encoding: 'utf8',
      },
    );
    const { flags, inside } = JSON.parse(said) as { flags: string; inside: string };
    expect(Number.parseInt(flags, 8) & 0o2000000).toBe(0); // else this test would show nothing
    expect(inside.trim().split('\n')).toEqual(['0', '1', '2', '3']);
  });
});
