import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { processesMarked } from '../support/attack.ts';
import { EXAMPLES, NO_SANDBOX, newSkill, PROBES } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const root = join(import.meta.dirname, '../..');
const PROGRAM = join(root, 'dist/cli/skillbox.cjs');
const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const USERS = isRoot
  ? [
      { name: 'root', uid: 0 },
      { name: 'an ordinary user', uid: NOBODY },
    ]
  : [{ name: 'this user', uid: process.getuid?.() ?? 0 }];

type Ran = { code: number | null; out: string; err: string };
type Place = { uid: number; data: string; home: string; env?: Record<string, string> };

function newPlace(uid: number): Place {
  const [data, home] = [tempDir('data'), tempDir('home')];
  if (isRoot) for (const path of [data, home]) chownSync(path, uid, uid);
  return { uid, data, home };
}

/** The program as a shell starts it: nothing of ours in its environment but a secret that must not get out. */
function start(place: Place, words: string[], cwd = '/'): { child: ChildProcess; ended: Promise<Ran> } {
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    cwd,
    detached: true, // as a shell starts it: a group of its own
    env: {
      SKILLBOX_DATA_DIR: place.data,
      HOME: place.home,
      PATH: '/usr/bin:/bin',
      HOST_SECRET: 'host-secret-value',
      ...place.env,
    },
    ...(isRoot ? { uid: place.uid, gid: place.uid } : {}),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ran: Ran = { code: null, out: '', err: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    ran.out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    ran.err += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ ...ran, code: code as number | null }));
  return { child, ended };
}

const run = (place: Place, words: string[], cwd?: string) => start(place, words, cwd).ended;

/** The skill as the user's own. */
async function own(place: Place, skill: string): Promise<string> {
  const { code, err } = await run(place, ['trust', 'add', skill]);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return skill;
}

/** The id of the one run that goes on. */
async function runningId(place: Place): Promise<string> {
  for (let turn = 0; turn < 100; turn++) {
    const { out } = await run(place, ['exec', 'list', '--state', 'running', '--json']);
    const [first] = JSON.parse(out).runs as { execution_id: string }[];
    if (first !== undefined) return first.execution_id;
    await sleep(50);
  }
  throw new Error('no run started');
}

describe.skipIf(NO_SANDBOX).each(USERS)('the built program as $name', ({ uid }) => {
  const place = newPlace(uid);
  beforeAll(() => {
    if (!existsSync(PROGRAM)) execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root });
  }, 60_000);

  test('runs an example, and prints one document and nothing else', async () => {
    const words = ['run', join(EXAMPLES, 'skillbox/word-count'), '--input', '{"text":"a b"}', '--json'];
    const { code, out, err } = await run(place, words);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toMatchObject({ status: 'success', output: { words: 2 }, files_list: ['report.md'] });
    expect(out).not.toContain('host-secret-value');
  });

  test('publishes an example and runs it by its name and version: the packages that are loaded on demand have their names', async () => {
    const pushed = await run(place, ['skill', 'push', join(EXAMPLES, 'skillbox/word-count')]);
    expect({ code: pushed.code, err: pushed.err }).toEqual({ code: 0, err: '' });
    const { out } = await run(place, ['run', 'word-count@^1', '--input', '{"text":"a b"}', '--yes', '--json']);
    expect(JSON.parse(out)).toMatchObject({ status: 'success', output: { words: 2 } });
  });

  test('a data directory behind a link is used where it really is', async () => {
    const real = newPlace(uid);
    symlinkSync(real.data, join(real.home, 'link'));
    const linked = { ...real, data: join(real.home, 'link') };
    const typed = {
      'SKILL.md': '---\nname: probe\ndescription: x\ntags: x\n---\n',
      'scripts/x.ts': 'console.log(1 as number)',
    };
    for (const skill of [newSkill('bash', 'echo 1\n'), writeFiles(tempDir('skill', 0o755), typed)]) {
      const { err, out } = await run(linked, ['run', skill, '--yes', '--json']);
      expect([err, JSON.parse(out).logs]).toEqual(['', '1\n']);
    }
  });

  test('a directory that is gone is one sentence', () => {
    const script = 'mkdir "$2" && cd "$2" && rmdir "$2" && exec "$0" "$1" skill lint .';
    const words = ['-c', script, process.execPath, PROGRAM, join(tempDir('gone'), 'x')];
    const { stderr, status } = spawnSync('bash', words, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([2, 'error: the current directory is gone\n  Change to one that is there.\n']);
  });

  test('a full disk under its output is one sentence', () => {
    const { stderr, status } = spawnSync(
      'sh',
      ['-c', `"$0" "$1" skill lint "$2" > /dev/full`, process.execPath, PROGRAM, EXAMPLES],
      {
        encoding: 'utf8',
      },
    );
    expect([status, stderr]).toEqual([1, 'error: cannot write to standard output (ENOSPC)\n']);
  });

  test('a run is begun as the last one of the skill was, unless the configuration says otherwise; V8 has its code', async () => {
    const body = 'print("ahead" if "boot.py" in open("/proc/self/cmdline").read() else "cold")';
    const skill = await own(place, newSkill('python', body));
    const told = async (words: string[] = [], env: Record<string, string> = {}) =>
      JSON.parse((await run({ ...place, env }, ['run', skill, ...words, '--json'])).out).logs;
    expect(await told()).toBe('cold\n');
    expect(await told()).toBe('ahead\n');
    expect(await told(['--input', '{"other":1}', '--env', 'A=b'])).toBe('ahead\n');
    expect(await told([], { SKILLBOX_AHEAD: 'no' })).toBe('cold\n');
    expect(await told()).toBe('ahead\n');
    expect(await told(['--timeout', '7s'])).toBe('cold\n');
    expect(readdirSync(join(place.data, 'sandbox/runs'))).toEqual([]);
    const [compiled = ''] = readdirSync(join(place.home, '.cache/skillbox'));
    const kept = readdirSync(join(place.home, '.cache/skillbox', compiled)).map(name => name.split('-')[0]);
    expect(kept).toEqual(expect.arrayContaining(['early', 'run.cjs']));
  });

  test('what few runs need is loaded one by one', () => {
    const script = `const later = require(${JSON.stringify(join(root, 'dist/cli/run-later.cjs'))});
      const loaded = () => Object.keys(require.cache).map(path => require('node:path').basename(path));
      const before = loaded();
      later['src/runs/archive.ts'];
      process.stdout.write(JSON.stringify([before, loaded().filter(name => name.startsWith('stores'))]));`;
    expect(JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }))).toEqual([
      ['run-later.cjs'],
      [],
    ]);
  });

  test('what V8 made of a run that failed is not kept: most of a run may be missing in it', async () => {
    const fresh = newPlace(uid);
    expect((await run(fresh, ['run', '/nowhere'])).code).not.toBe(0);
    const [compiled = ''] = readdirSync(join(fresh.home, '.cache/skillbox'));
    const kept = readdirSync(join(fresh.home, '.cache/skillbox', compiled)).filter(name => name.includes('.cjs-'));
    expect(kept).toEqual([]);
  });

  test('V8 takes what it made of the catalog, whatever flags that set meanwhile', async () => {
    const fresh = newPlace(uid);
    for (const _ of [1, 2]) expect((await run(fresh, ['catalog'])).code).toBe(0);
    const [compiled = ''] = readdirSync(join(fresh.home, '.cache/skillbox'));
    const directory = join(fresh.home, '.cache/skillbox', compiled);
    const kept = readdirSync(directory)
      .filter(name => name.includes('.cjs-'))
      .sort();
    const heads = kept.map(name => [name.split('.')[0], ...readFileSync(join(directory, name)).subarray(0, 2)]);
    expect(heads).toEqual([
      ['catalog', 2, 0],
      ['early-scan', 2, 0],
    ]);
  });

  test.each([
    ['an option that there is none of', ['--bogus']],
    ['an option without its value', ['--input']],
    ['a word too many', ['main', 'more']],
  ])('before the first run %s makes nothing', async (_, words) => {
    const place = newPlace(uid);
    const data = join(place.home, 'not/yet');
    const ran = await run({ ...place, data }, ['run', join(EXAMPLES, 'skillbox/word-count'), ...words]);
    expect([ran.code, existsSync(join(place.home, 'not'))]).toEqual([2, false]);
  });

  test('what was begun for a run that nobody allows is gone with the command', async () => {
    const mark = randomBytes(8).toString('hex');
    const skill = await own(place, newSkill('python', 'import time; time.sleep(0.1)'));
    await run(place, ['run', skill]);
    await run(place, ['trust', 'remove', skill]);
    const asked = await run(place, ['run', skill, '--env', `MARK=${mark}`, '--json']);
    expect(JSON.parse(asked.out).status).toBe('waiting');
    for (const words of [['--nonsense'], ['--input', '{'], ['extra', 'words']])
      expect((await run(place, ['run', skill, ...words])).code).toBe(2);
    expect(processesMarked(mark)).toEqual([]);
    expect(readdirSync(join(place.data, 'sandbox/runs'))).toEqual([]);
    expect(readdirSync(join(place.data, 'sandbox/keepers'))).toEqual([]);
  });

  test('--input - reads standard input', async () => {
    const { child, ended } = start(place, ['run', join(EXAMPLES, 'skillbox/word-count'), '--input', '-', '--json']);
    child.stdin?.write('{"text":');
    await sleep(50);
    child.stdin?.end('"one two three"}');
    expect(JSON.parse((await ended).out)).toMatchObject({ output: { words: 3 } });
  });

  test('WS-02/WS-09 a TypeScript script in a workspace, whose files stay the user\u2019s', async () => {
    const workspace = join(place.home, 'project');
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'a.json'), '{"a":[1]}');
    if (isRoot) for (const path of [workspace, join(workspace, 'a.json')]) chownSync(path, uid, uid);
    const words = [
      'run',
      join(EXAMPLES, 'workspace/json-tools'),
      'flatten.ts',
      '--workspace',
      'project',
      '--',
      'a.json',
    ];
    const { code, err, out } = await run(place, words, place.home);
    expect({ code, err }).toEqual({ code: 0, err: 'a.0 = 1\n' });
    expect(out).toContain('node');
  });

  test('GB-11 a home directory under git is not handed to a tool, nor taken as a workspace', async () => {
    mkdirSync(join(place.home, '.git'), { recursive: true });
    if (isRoot) chownSync(join(place.home, '.git'), uid, uid);
    const { out } = await run(place, ['run', join(PROBES, 'tool-probe'), 'report', '--yes', '--json'], place.home);
    expect(JSON.parse(out).output.parsed).toMatchObject({ cwd: '/workspace', here: [], env: { HOME: '/workspace' } });
    const named = await run(place, ['run', join(PROBES, 'script-probe'), 'probe.py', '--workspace', '.'], place.home);
    expect(named).toMatchObject({ code: 2, err: expect.stringContaining('holds your home directory') });
    const data = await run(
      place,
      ['run', join(PROBES, 'script-probe'), 'probe.py', '--workspace', place.data],
      place.home,
    );
    expect(data).toMatchObject({ code: 2, err: expect.stringContaining('data of Skillbox') });
  });

  test('SB-09 files that are closed, linked or elsewhere are left out, and nothing of them stays', async () => {
    const body = [
      'cd "$SANDBOX_FILES_DIR"; mkdir closed; echo x > closed/x; chmod 000 closed; echo y > open',
      'ln -s /etc/passwd link; echo z > secret; chmod 000 secret',
    ].join('\n');
    const closed = JSON.parse((await run(place, ['run', await own(place, newSkill('bash', body)), '--json'])).out);
    // Root reads whatever the mode is; a user may not, and is told.
    expect(closed.files_list).toEqual(uid === 0 ? ['closed/x', 'open', 'secret'] : ['open']);
    expect(closed.warnings).toHaveLength(uid === 0 ? 1 : 3);
    const linked = await own(place, newSkill('bash', 'rmdir /sandbox/out/files; ln -s /etc /sandbox/out/files\n'));
    const { code, out } = await run(place, ['run', linked, '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ files_list: [], error: { code: 'BAD_OUTPUT' } });
    expect(readdirSync(join(place.data, 'sandbox/runs'))).toEqual([]);
  });

  test('exit codes of a failing and of a slow skill', async () => {
    expect(await run(place, ['run', join(EXAMPLES, 'skillbox/failing')])).toMatchObject({ code: 1 });
    const slow = ['run', join(EXAMPLES, 'skillbox/slow-steps'), '--timeout', '400ms', '--json'];
    const { code, out } = await run(place, slow);
    expect(code).toBe(124);
    expect(JSON.parse(out)).toMatchObject({ status: 'timeout', output: { complete: false } });
  });

  test.each([
    ['SIGINT', 'the command'],
    ['SIGTERM', 'the command'],
    ['SIGINT', 'all that a terminal would tell'],
  ] as const)('%s to %s cancels cleanly: the result is printed, nothing survives', async (signal, to) => {
    const mark = `sb-mark-${randomBytes(6).toString('hex')}`;
    const body = `trap 'echo bye; exit 1' TERM; (exec -a ${mark} sleep 20) & echo begun; wait\n`;
    const skill = await own(place, newSkill('bash', body));
    const { child, ended } = start(place, ['run', skill, '--json']);
    await runningId(place);
    while (processesMarked(mark).length === 0) await sleep(20);
    if (to === 'the command') child.kill(signal);
    else process.kill(-(child.pid ?? 0), signal);
    const { code, out, err } = await ended;
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', end: { kind: 'canceled' }, logs: 'begun\nbye\n' });
    expect(processesMarked(mark)).toEqual([]);
    expect(readdirSync(join(place.data, 'sandbox/runs'))).toEqual([]);
  });

  test('WS-10 a second Ctrl-C ends a run that takes its time, not the look at what it planted', async () => {
    const body = `trap 'mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json; echo more' TERM; echo begun; while :; do sleep 0.05; done\n`;
    const files = {
      'SKILL.md': '---\nname: probe\ndescription: made for a test\ntags: test\n---\n',
      'scripts/x.sh': body,
    };
    const skill = await own(place, writeFiles(tempDir('skill', 0o755), files));
    const workspace = tempDir('workspace');
    if (isRoot) chownSync(workspace, place.uid, place.uid);
    const { child, ended } = start(place, ['run', skill, '--workspace', workspace, '--json']);
    const id = await runningId(place);
    const printed = async (text: string) => {
      while (!(await run(place, ['exec', 'logs', id])).out.includes(text)) await sleep(20);
    };
    await printed('begun');
    child.kill('SIGINT');
    await printed('more');
    child.kill('SIGINT');
    const { code, out } = await ended;
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      end: { kind: 'canceled' },
      warnings: [expect.stringContaining('sub/.vscode')],
    });
    expect(readdirSync(join(workspace, 'sub'))).toEqual([]);
  });

  test('exec cancel from another process ends the run; exec logs --follow ends with it', async () => {
    const input = '{"steps":600,"seconds":0.1}';
    const { ended } = start(place, ['run', join(EXAMPLES, 'skillbox/slow-steps'), '--input', input, '--json']);
    const id = await runningId(place);
    const following = run(place, ['exec', 'logs', id.slice(0, 22), '--follow']);
    expect(await run(place, ['exec', 'cancel', id])).toMatchObject({ code: 0, out: 'asked to end\n' });
    expect(JSON.parse((await ended).out)).toMatchObject({
      execution_id: id,
      end: { kind: 'canceled' },
      output: { complete: false },
    });
    expect(await following).toMatchObject({ code: 0, err: 'asked to end\n' });
  });

  test('killed outright, the run is interrupted for whoever asks next', async () => {
    const { child, ended } = start(place, ['run', await own(place, newSkill('bash', 'echo begun; sleep 20\n'))]);
    const id = await runningId(place);
    child.kill('SIGKILL');
    await ended;
    const { code, out } = await run(place, ['exec', 'show', id, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 'failed', error: { code: 'INTERRUPTED' } });
    expect((await run(place, ['exec', 'show', id])).out).toContain(`run ${id} (its sandbox was not recorded)\n`);
    expect(await run(place, ['exec', 'logs', id, '--follow'])).toMatchObject({ code: 0 });
    await run(place, ['run', await own(place, newSkill('bash', 'true\n'))]);
    expect(readdirSync(join(place.data, 'sandbox/runs'))).toEqual([]);
  });

  test('doctor tries, and says what holds', async () => {
    const { code, out } = await run(place, ['doctor', '--json']);
    expect(code).toBe(0);
    const { drivers } = JSON.parse(out);
    expect(drivers).toContainEqual(expect.objectContaining({ driver: 'bubblewrap', usable: true }));
  });
});

test.runIf(isRoot && !NO_SANDBOX)('a data directory of somebody else is refused', async () => {
  const theirs = newPlace(NOBODY);
  const { code, err } = await run({ ...theirs, uid: 0 }, ['exec', 'list']);
  expect(code).toBe(1);
  expect(err).toContain('belongs to uid 65534');
  // One that is closed to us is told the same way, though nothing in it can be looked at.
  const roots = newPlace(0);
  chmodSync(roots.data, 0o700);
  const closed = await run({ ...newPlace(NOBODY), data: roots.data }, ['secret', 'list']);
  expect(closed).toMatchObject({ code: 1, err: expect.stringContaining('belongs to uid 0, not to 65534') });
});
