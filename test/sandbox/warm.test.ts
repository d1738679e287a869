import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as streamText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import {
  type Bubblewrap,
  createBubblewrap,
  type Outcome,
  type RunSpec,
  run,
  type SandboxMount,
} from '../../src/sandbox/index.ts';
import { PYTHON_BOOT } from '../../src/sandbox/warm-python.ts';
import { BUBBLEWRAPS, makeStateDir, NOBODY, optionsFor, WARM } from '../support/drivers.ts';
import { commandOf, startedBy, untilAsleep } from '../support/processes.ts';
import { startRemote } from '../support/remote-sandbox.ts';
import { errors, MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { alwaysWarm } from '../support/warmed.ts';

tidy();

const FILES = { python3: 'main.py', node: 'main.js', bash: 'main.sh' } as const;
type Program = keyof typeof FILES;

function specFor(program: Program, body: string, files: Record<string, string> = {}, name: string = FILES[program]) {
  const source = tempDir('skill', 0o755);
  for (const [path, content] of Object.entries({ [name]: body, ...files })) writeFileSync(join(source, path), content);
  const mounts: SandboxMount[] = [
    { kind: 'bind', source, at: '/sandbox/scripts', writable: false, exec: true, protect: null },
    { kind: 'text', at: '/sandbox/input.json', text: '{"x":1}' },
    ...MOUNTS,
  ];
  const env = { HOME: '/root', LANG: 'C.UTF-8', PATH: '/usr/bin:/bin', OWN: 'value=with=signs\nand ünicode' };
  return specOf([program, `/sandbox/scripts/${name}`, 'one', '', 'tw o'], { mounts, env, cwd: '/sandbox/out' });
}

describe.skipIf(BUBBLEWRAPS[0]?.skip !== null)('the warm pool', () => {
  let stateDir: string;
  let bubblewrap: Bubblewrap;
  let cold: Bubblewrap;
  beforeAll(async () => {
    buildHelper();
    stateDir = makeStateDir(process.getuid?.() ?? 0);
    bubblewrap = createBubblewrap({ ...optionsFor(stateDir), warm: WARM });
    cold = createBubblewrap(optionsFor(stateDir));
    await bubblewrap.check();
    await cold.check();
  });
  afterAll(async () => {
    await bubblewrap.close();
    await cold.close();
    expect(readdirSync(join(stateDir, 'runs'))).toEqual([]);
    await rm(stateDir, { recursive: true, force: true });
  });
  const both = async (spec: RunSpec, stdin: string | null = null) => {
    const io = { ...QUIET, stdin };
    return [await run(alwaysWarm(bubblewrap), spec, io), await run(cold, spec, io)] as const;
  };

  it.each([
    [
      'argv, cwd, paths',
      'import sys, os; print(sys.argv, os.getcwd(), sys.path, sys.orig_argv[1:], sys.executable, sys.flags)',
    ],
    ['the environment', 'import os; print(sorted(os.environ.items())); os.system("env | sort | grep -v ^_=")'],
    [
      '__main__',
      'print({k: v for k, v in sorted(globals().items()) if k not in ("__builtins__", "__loader__")}); print(__loader__.path, __name__)',
    ],
    [
      'descriptors and streams',
      'import os, sys; print(os.listdir("/proc/self/fd").__len__(), sys.stdout.encoding, sys.stdin.encoding, sys.stdout.line_buffering)',
    ],
    ['stdin', 'import sys; print(repr(sys.stdin.read()))'],
    ['a traceback', 'def f():\n    raise ValueError("x")\ntry:\n    f()\nexcept ValueError:\n    f()\n'],
    ['a syntax error', 'def f(:\n  pass\n'],
    ['an exit code', 'import sys; sys.exit(7)'],
    ['an exit message', 'raise SystemExit("told")'],
    [
      'a hook of its own',
      'import sys\nsys.excepthook = lambda t, e, b: print(t, e, b.tb_frame.f_code.co_name, b.tb_next)\n1/0',
    ],
    [
      'what runs at the end',
      'import atexit\nclass A:\n  def __del__(self): print("del")\na = A()\natexit.register(print, "atexit")\nf = open("/sandbox/out/x", "w"); f.write("kept"); print(1/0)',
    ],
    [
      'files and objects left open',
      'import near\nnear.f = open("/sandbox/out/a", "w"); near.f.write("a")\ng = open("/sandbox/out/b", "w"); g.write("b")\ndef k():\n  try: yield 1\n  finally: print("closed")\nx = k(); next(x)\nclass A:\n  def __init__(self): self.me = self\n  def __del__(self, o=open): print("del", o("/sandbox/out/a").read(), o("/sandbox/out/b").read())\na = A()',
    ],
    [
      'exit functions',
      'import atexit, sys\natexit.register(lambda: print(sys.argv[1:]))\natexit.register(lambda: 1/0)\nsys.exit(300)',
    ],
    ['a negative code', 'import sys; print("kept", end=""); sys.exit(-2)'],
    ['streams that are closed', 'import os; print("lost"); os.close(1)'],
    ['another stdout', 'import sys; sys.stdout = open("/dev/stderr", "w"); print("there")'],
    ['the C library', 'import ctypes; ctypes.CDLL(None).printf(b"buffered")'],
    [
      'temporary files',
      'import tempfile, os; d = tempfile.TemporaryDirectory(); f = tempfile.NamedTemporaryFile(); print(len(os.listdir("/tmp")))',
    ],
    [
      'logging',
      'import logging, logging.handlers; h = logging.handlers.MemoryHandler(100, target=logging.StreamHandler()); logging.getLogger().addHandler(h); logging.warning("late")',
    ],
    [
      'threads at the end',
      'import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print("late"))).start()',
    ],
    ['an interrupt', 'import os, signal; os.kill(os.getpid(), signal.SIGINT)'],
    ['its own json', 'import json; print(json.__file__, json.mine)'],
    ['its own modules', 'import near; print(near.value, __file__, near.__file__)'],
    ['encodings', '# -*- coding: latin-1 -*-\nprint(len("\u00e9"))'],
    [
      'workers',
      'import multiprocessing as m\nif __name__ == "__main__":\n  p = m.get_context("fork").Process(target=print, args=("child",)); p.start(); p.join(); print(p.exitcode)',
    ],
  ])('python: %s as at a cold start', async (_, body) => {
    const files = { 'near.py': 'value = 5\n', ...(body.includes('mine') ? { 'json.py': 'mine = 1\n' } : {}) };
    const spec = specFor('python3', body, files);
    const [warm, usual] = await both(spec, 'in\nput');
    const told = (outcome: Outcome) => [outcome.end, text(outcome), errors(outcome).replace(/0x[0-9a-f]+/g, '0x…')];
    expect(told(warm)).toEqual(told(usual));
    // The first came as it was up; now one that comes when it has loaded all that it may.
    await bubblewrap.preheat(spec);
    await untilAsleep('/.skillbox/warm/boot.py');
    expect(told(await run(bubblewrap, spec, { ...QUIET, stdin: 'in\nput' }))).toEqual(told(usual));
  });

  it('python: one that lacks what is loaded ahead waits all the same', async () => {
    const boot = join(tempDir('boot'), 'boot.py');
    writeFileSync(boot, PYTHON_BOOT.replace("'json', 're', 'collections'", "'nosuch', 'nosuch.inner', 're'"));
    expect(PYTHON_BOOT).toContain("'json', 're', 'collections'");
    const script = join(tempDir('script'), 'main.py');
    writeFileSync(script, 'import json; print(json.dumps([1]))');
    const given = join(tempDir('run'), 'run');
    writeFileSync(given, '');
    const handed = openSync(given, 'r');
    const child = spawn('/usr/bin/python3', [boot], { env: {}, stdio: ['ignore', 'pipe', 'inherit', 'pipe', handed] });
    closeSync(handed);
    const control = child.stdio[3] as Socket;
    expect(String((await once(control, 'data'))[0])).toBe('R');
    await sleep(150);
    writeFileSync(given, ['/', '2', '/usr/bin/python3', script, 'A=b', ''].join('\0'));
    control.end();
    expect([await streamText(child.stdout as Readable), child.exitCode ?? (await once(child, 'exit'))[0]]).toEqual([
      '[1]\n',
      0,
    ]);
  });

  it.each([
    [
      'argv, cwd, main',
      'console.log(process.argv, process.cwd(), require.main === module, __filename, module.paths, process.execArgv, Object.keys(require.cache))',
    ],
    [
      'the environment',
      'console.log(Object.entries(process.env).sort()); console.log(String(require("child_process").execSync("env | sort | grep -v ^_=")))',
    ],
    ['stdin', 'process.stdin.on("data", d => console.log(String(d))).on("end", () => console.log("end"))'],
    ['an exit code', 'process.exitCode = 7'],
    [
      'descriptors',
      'const fs = require("fs"); console.log(fs.readdirSync("/proc/self/fd").filter(fd => { try { return /socket|memfd/.test(fs.readlinkSync("/proc/self/fd/" + fd)) } catch { return false } }))',
    ],
    ['its own modules', 'console.log(require("./near.js").value, require("./near.js").parent)'],
    [
      'what runs at the end',
      'process.on("exit", code => console.log("exit", code)); process.on("beforeExit", () => console.log("before"))',
    ],
    ['more than a pipe holds', 'process.stdout.write("x".repeat(300_000)); setTimeout(() => console.log("end"), 5)'],
    ['an exit in the middle', 'console.log(1); process.exit(0); console.log(2)'],
    [
      'an exit of its own',
      'const { reallyExit } = process; process.reallyExit = code => { require("fs").writeSync(1, "own"); reallyExit.call(process, code) }; process.exit(0)',
    ],
    [
      'what is told after the last listener',
      'const { emit } = process; process.emit = function (...all) { const told = emit.apply(this, all); if (all[0] === "exit") require("fs").writeSync(1, "after"); return told }',
    ],
    [
      'a kill of its own',
      'process.kill = () => { throw new Error("not now") }; process._kill = () => -1; console.log(1)',
    ],
  ])('node: %s as at a cold start', async (_, body) => {
    const [warm, usual] = await both(specFor('node', body, { 'near.js': 'exports.value = 5' }), 'in');
    expect([warm.end, text(warm), errors(warm)]).toEqual([usual.end, text(usual), errors(usual)]);
  });

  it('python: the signal by which a warm node ends is a signal like any other', async () => {
    const [warm, usual] = await both(specFor('python3', 'import os; os.kill(os.getpid(), 64)'));
    expect(warm.end).toEqual(usual.end);
    expect(warm.end.kind).not.toBe('exited');
  });

  it('node: what has something to finish is let finish it', async () => {
    const body =
      'const { DatabaseSync } = require("node:sqlite"); new DatabaseSync("/sandbox/out/a.db").exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")';
    const left = [];
    for (const sandbox of [alwaysWarm(bubblewrap), cold]) {
      const handle = await sandbox.prepare(specFor('node', body));
      try {
        expect((await handle.start(QUIET)).end).toEqual({ kind: 'exited', code: 0 });
        left.push(readdirSync(handle.path('/sandbox/out')));
      } finally {
        await handle.dispose();
      }
    }
    expect(left).toEqual([
      ['a.db', 'files'],
      ['a.db', 'files'],
    ]);
  });

  it('node: a file that is being written at the exit is written to its end', async () => {
    const body =
      'const fs = require("fs"); fs.writeFileSync("/sandbox/out/a", Buffer.alloc(16 << 20)); fs.copyFile("/sandbox/out/a", "/sandbox/out/b", () => {}); while (!fs.existsSync("/sandbox/out/b")); process.exit(0)';
    for (const sandbox of [alwaysWarm(bubblewrap), cold]) {
      const spec = specFor('node', body);
      const handle = await sandbox.prepare({ ...spec, limits: { ...spec.limits, diskBytes: 40 * 1024 ** 2 } });
      try {
        expect((await handle.start(QUIET)).end).toEqual({ kind: 'exited', code: 0 });
        expect(statSync(`${handle.path('/sandbox/out')}/b`).size).toBe(16 << 20);
      } finally {
        await handle.dispose();
      }
    }
  });

  it('node: modules, and errors without a frame of ours', async () => {
    const module = 'import { value } from "./near.mjs"; console.log(value, process.argv[1], import.meta.url);';
    const [warm, usual] = await both(specFor('node', module, { 'near.mjs': 'export const value = 5' }, 'main.mjs'));
    expect([warm.end, text(warm)]).toEqual([usual.end, text(usual)]);
    for (const body of ['throw new Error("x")', 'Promise.reject(new Error("x"))', 'require("./absent")']) {
      const [failed, expected] = await both(specFor('node', body));
      expect(failed.end).toEqual(expected.end);
      expect(errors(failed)).not.toContain('.skillbox');
      const own = (all: string) => all.split('\n').filter(line => !line.includes('(node:') && !/ at node:/.test(line));
      expect(own(errors(failed))).toEqual(own(errors(expected)));
    }
  });

  const plain = (body: string, env: Record<string, string> = {}): RunSpec => {
    const spec = specFor('bash', body);
    return { ...spec, argv: spec.argv.slice(0, 2), env: { ...spec.env, ...env } };
  };
  const booted = () => bubblewrap.warmth().keys.filter(({ label }) => label.startsWith('bash '));

  it.each([
    [
      'its name, its place and its arguments',
      `echo "$0 $# $@ $PWD \${BASH_SOURCE[@]} \${FUNCNAME[@]} $LINENO $?"; pwd -P`,
    ],
    ['not sourced', `(return 0) && echo sourced; f() { echo "\${FUNCNAME[@]}"; }; f; return 3`],
    [
      'variables',
      'unset BASH_ARGC; SECONDS=0; declare -p | grep -v "^declare -[-ir]* \\(RANDOM\\|SRANDOM\\|EPOCH.*\\|BASHPID\\|_\\)="',
    ],
    ['options, functions, traps, aliases', 'set +o; shopt; declare -F; declare -f; trap; alias; hash'],
    ['the environment', 'env -0 | sort -z | grep -zv ^_= | cat -v; tr "\\0" " " < /proc/$$/cmdline'],
    ['descriptors', 'ls /proc/$$/fd; ls -l /proc/$$/fd | grep -c socket'],
    ['stdin', 'read -r line; echo "<$line>"; cat'],
    ['an exit code', 'exit 7'],
    ['an error', 'set -e; nosuch; echo never'],
    ['a syntax error', 'echo one\nif then\n'],
    ['a signal', 'kill -TERM $$'],
    ['a trap at its end', 'trap "echo end" EXIT; echo body'],
    ['what it replaces itself with', 'exec env'],
    ['children', 'echo a | cat; (echo "$BASH_SUBSHELL $OLDPWD"); cd /; echo "$OLDPWD"'],
  ])('bash: %s as at a cold start', async (_, body) => {
    const odd = { words: '(1 2)', entry: '-x', why: '[0]=1', boot: 'a\nb' };
    const [warm, usual] = await both(plain(body, { QUOTED: `'"$(id)\`~/x`, EMPTY: '', ...odd }), 'in\nput');
    expect([warm.end, text(warm), errors(warm)]).toEqual([usual.end, text(usual), errors(usual)]);
    expect(booted().length).toBe(1);
  });

  it('bash: long instructions, as a skill has them in its environment', async () => {
    const env = { LONG: 'é\n'.repeat(40_000), MANY: '\\0 '.repeat(1000) };
    const [warm, usual] = await both(plain('printf "%s|%s" "$LONG" "$MANY" | sha256sum', env));
    expect([warm.end, text(warm), errors(warm)]).toEqual([usual.end, text(usual), errors(usual)]);
    expect(booted().length).toBe(1);
  });

  it('bash: a script that is not there, and a place to start in that is not there', async () => {
    const spec = plain('true');
    for (const one of [
      { ...spec, argv: ['bash', '/sandbox/scripts/absent.sh'] },
      { ...spec, cwd: '/sandbox/absent' },
      { ...spec, cwd: '/sandbox/input.json' },
    ]) {
      const [warm, usual] = await both(one);
      expect([warm.end, text(warm), errors(warm)]).toEqual([usual.end, text(usual), errors(usual)]);
    }
  });

  it.each([
    ['one that the shell gives a meaning', { IFS: ':' }],
    ['one that names a file to read first', { BASH_ENV: '/sandbox/scripts/main.sh' }],
    ['one that holds options', { SHELLOPTS: 'xtrace' }],
    ['one that the shell keeps for itself', { UID: '0' }],
    ['one that the loader reads', { LD_BIND_NOW: '1' }],
  ])('bash is left to the run where a variable is %s', async (_, env) => {
    const before = booted().length;
    const [warm, usual] = await both(plain('echo "$IFS|$UID"; echo $-', env));
    expect([warm.end, text(warm), errors(warm)]).toEqual([usual.end, text(usual), errors(usual)]);
    expect(booted().length).toBe(before);
  });

  it('any other program: exactly the cold start', async () => {
    const body =
      'echo "$0" "$#" "$@" "$PWD" "$BASH_SOURCE"; env | sort; tr "\\0" " " < /proc/$$/cmdline; ls /proc/self/fd; nosuch; exit 3';
    const [warm, usual] = await both(specFor('bash', body));
    expect([warm.end, text(warm), errors(warm)]).toEqual([usual.end, text(usual), errors(usual)]);
  });

  it.each(['python3', 'node', 'bash'] as const)(
    '%s: what the run brings is read-only, and what it may write is empty',
    async program => {
      const shell =
        'touch /sandbox/x /sandbox/scripts/x /sandbox/input.json /.skillbox/warm/x; rm -f /sandbox/scripts/*; mv /sandbox/scripts /sandbox/y; chmod 777 /sandbox/scripts; ls /sandbox /tmp /sandbox/out; stat -c "%U %a" /sandbox /sandbox/* /sandbox/scripts/*; cat /sandbox/input.json';
      const bodies = {
        python3: `import os; os.system(${JSON.stringify(shell)})`,
        node: `require("child_process").spawnSync("bash", ["-c", ${JSON.stringify(shell)}], { stdio: "inherit" })`,
        bash: shell,
      };
      const [warm, usual] = await both(specFor(program, bodies[program]));
      expect(text(warm)).toBe(text(usual));
      expect(errors(warm).match(/Read-only file system/g)?.length).toBeGreaterThanOrEqual(5);
    },
  );

  it('one run sees nothing of the one before, in the same key', async () => {
    const look = (program: Program, mark: string) => ({
      ...specFor(
        program,
        program === 'python3'
          ? 'import os; print(os.environ); os.system("cat /proc/*/environ; ls -R /tmp /dev/shm /sandbox; touch /tmp/left")'
          : 'cat /proc/*/environ; env; ls -R /tmp /dev/shm /sandbox; touch /tmp/left',
      ),
      env: { HOME: '/root', MARK: mark },
    });
    for (const program of ['python3', 'bash'] as const) {
      await both(look(program, 'first-run'));
      const [second] = await both(look(program, 'second-run'));
      expect(text(second)).toContain('second-run');
      expect(text(second)).not.toContain('first-run');
      expect(text(second)).not.toContain('left');
    }
  });

  it('no descriptor outlives a run, whether it ran, was canceled before its start, or failed to start', async () => {
    await bubblewrap.check(); // gives its spares up: they have descriptors too
    const count = () => readdirSync('/proc/self/fd').length;
    const spec = specFor('bash', 'echo x');
    const early = AbortSignal.abort();
    const all = async () => {
      await run(cold, spec, QUIET);
      expect((await run(cold, spec, { ...QUIET, signal: early })).end.kind).toBe('canceled');
      await run(cold, { ...spec, argv: ['bash', '/sandbox/scripts/absent.sh'] }, QUIET);
    };
    await all();
    const before = count();
    for (let round = 0; round < 5; round++) await all();
    await vi.waitFor(() => expect(count()).toBeLessThanOrEqual(before), { timeout: 5000 });
  });

  it('each has its own uid, and a spare is used once', async () => {
    const spec = specFor('bash', 'echo done');
    const [first, second] = [await alwaysWarm(bubblewrap).prepare(spec), await alwaysWarm(bubblewrap).prepare(spec)];
    expect(first.id).not.toBe(second.id);
    if (process.getuid?.() === 0)
      expect(readdirSync(join(stateDir, 'uids')).filter(name => /^\d+$/.test(name)).length).toBe(2);
    for (const handle of [first, second]) {
      expect(text(await handle.start(QUIET))).toBe('done\n');
      await expect(handle.start(QUIET)).rejects.toThrow(/twice/);
      await handle.dispose();
    }
  });

  it('a spare whose sandbox is killed is not handed out, and is replaced when idle', async () => {
    const pooled = createBubblewrap({ ...optionsFor(stateDir), warm: { ...WARM, idleMs: 1 } });
    const spec = specFor('python3', 'print("ran")');
    expect(text(await run(pooled, spec, QUIET))).toBe('ran\n');
    await expect.poll(() => pooled.warmth().ready).toBe(1);
    for (const pid of startedBy().filter(one => commandOf(one).includes('/.skillbox/warm/boot.py')))
      process.kill(pid, 'SIGKILL');
    await expect.poll(() => pooled.warmth().keys[0]?.died).toBe(1);
    await expect.poll(() => pooled.warmth().ready).toBe(1);
    expect(text(await run(pooled, spec, QUIET))).toBe('ran\n');
    expect(pooled.warmth().keys[0]).toMatchObject({ hits: 1, misses: 1 });
    await pooled.close();
  });
});

describe.skipIf(BUBBLEWRAPS[0]?.skip !== null || process.getuid?.() !== 0)("a dead owner's spares", () => {
  it.each([
    ['as root', 0],
    ['as an ordinary user', NOBODY],
  ])('%s: they die with it, and a sweep removes what is left', async (_, uid) => {
    const stateDir = makeStateDir(uid);
    const options = { ...optionsFor(stateDir), warm: WARM };
    const [doomed, living] = await Promise.all([startRemote(options, uid), startRemote(options, uid)]);
    const spec = specOf(['python3', '/sandbox/main.py'], {
      mounts: [{ kind: 'text', at: '/sandbox/main.py', text: '' }, ...MOUNTS],
    });
    expect(await doomed.preheat(spec)).toBe(true);
    expect(await living.preheat(spec)).toBe(true);
    const spares = readdirSync(join(stateDir, 'runs'));
    expect(spares.length).toBe(2);
    doomed.child.kill('SIGKILL');
    for (let i = 0; i < 100 && doomed.child.signalCode === null; i++) await sleep(10);
    const swept = await living.sandbox.sweep();
    expect(swept.filter(id => spares.includes(id)).length).toBe(1);
    const left = readdirSync(join(stateDir, 'runs'));
    expect(left.length).toBe(1);
    expect(swept).not.toContain(left[0]);
    await living.close();
    await rm(stateDir, { recursive: true, force: true });
  });
});
