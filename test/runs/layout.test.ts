import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord, Skillbox } from '../../src/app.ts';
import { NO_SANDBOX, newSkill, openSkillbox, PROBES, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SECRET = 'host-secret-value';

type Seen = {
  argv: string[];
  cwd: string;
  env: Record<string, string>;
  input: string;
  sandbox: string[];
  files: string[];
  reference: string;
  sibling: string;
  write: Record<string, string>;
  writable: string[];
  execute: Record<string, string>;
  size: Record<string, number>;
  stdin: string;
  uid: number;
  init_environ: string;
  init_cmdline: string;
};

describe.skipIf(NO_SANDBOX)('what a skillbox entrypoint finds', () => {
  const dataDirectory = tempDir('data');
  let skillbox: Skillbox;
  let record: RunRecord;
  let seen: Seen;
  beforeAll(async () => {
    for (const name of ['HOST_SECRET', 'GITHUB_TOKEN', 'LD_PRELOAD_X', 'ANTHROPIC_API_KEY']) process.env[name] = SECRET;
    skillbox = await openSkillbox(dataDirectory);
    record = await runSkill(skillbox, join(PROBES, 'look-around'), {
      input: { text: 'ö "quoted"\n' },
      env: { REPORT_TITLE: 'a b' },
      callerEnv: { HOST_SECRET: SECRET, LANG: 'de_DE.UTF-8', PATH: '/evil' },
    });
    if (record.output === null) throw new Error(await textOf(skillbox, record));
    seen = record.output as unknown as Seen;
  });
  afterAll(async () => {
    for (const name of ['HOST_SECRET', 'GITHUB_TOKEN', 'LD_PRELOAD_X', 'ANTHROPIC_API_KEY']) delete process.env[name];
    await skillbox?.close();
  });

  test('SB-05 the layout: input, out, scripts and what else the skill has', () => {
    expect(seen.sandbox).toEqual(['SKILL.md', 'input.json', 'out', 'references', 'scripts']);
    expect(seen.files).toEqual([]);
    expect(seen.cwd).toBe('/sandbox/out');
    expect(seen.argv).toEqual(['/sandbox/scripts/main.py']);
    expect(seen.reference).toBe('a reference\n');
    expect(seen.sibling).toBe('a sibling');
    expect(seen.stdin).toBe('');
    expect(JSON.parse(seen.input)).toEqual({ text: 'ö "quoted"\n' });
  });

  test('SB-05 only out, /tmp and /root can be written to', () => {
    // As root the files of the snapshot also belong to somebody else.
    const closed = expect.stringMatching(/^E(?:ROFS|ACCES)$/);
    expect(seen.write).toEqual({
      '/sandbox': 'EROFS',
      '/sandbox/scripts': 'EROFS',
      '/sandbox/scripts/main.py': closed,
      '/sandbox/input.json': closed,
      '/sandbox/SKILL.md': closed,
      '/sandbox/references/note.md': closed,
      '/sandbox/out': 'ok',
      '/sandbox/out/files': 'ok',
      '/tmp': 'ok',
      '/root': 'ok',
      '/usr': 'EROFS',
      '/etc/passwd': closed,
      '/': 'EROFS',
    });
    expect(seen.writable).toEqual(['/dev/shm', '/root', '/sandbox/out', '/sandbox/out/files', '/tmp']);
  });

  test('SB-05 /tmp has 64 MB, /root 1 MB, and nothing there is executed', () => {
    expect(seen.size).toEqual({ '/tmp': 64 * 1024 ** 2, '/root': 1024 ** 2 });
    expect(seen.execute).toEqual({ '/tmp': 'EACCES', '/root': 'EACCES', '/dev/shm': 'EACCES' });
  });

  test('SB-06 the environment is exactly what the rule names', () => {
    const { PATH, ...env } = seen.env;
    expect(env).toEqual({
      HOME: '/root',
      LANG: 'C.UTF-8',
      REPORT_TITLE: 'a b',
      SANDBOX_INPUT: seen.input,
      SANDBOX_OUTPUT: '/sandbox/out/output.json',
      SANDBOX_FILES_DIR: '/sandbox/out/files/',
      SKILL_INSTRUCTIONS: 'the instructions\n',
      ...(env.LC_CTYPE === undefined ? {} : { LC_CTYPE: 'C.UTF-8' }), // python's own
    });
    expect(PATH).toMatch(/(?:^|:)\/usr\/local\/bin:\/usr\/bin:\/bin:\/\.skillbox\/bin$/);
    expect(PATH).not.toContain('/evil');
  });

  test("nothing of the host's environment or paths is seen, not even through PID 1", async () => {
    const all = JSON.stringify(record) + (await textOf(skillbox, record));
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain(dataDirectory);
    expect(seen.init_environ).toBe('EACCES');
    expect(seen.init_cmdline).not.toContain('/sandbox/scripts');
    expect(seen.uid).not.toBe(0);
  });
});

describe.skipIf(NO_SANDBOX)('what a skill is told', () => {
  let skillbox: Skillbox;
  beforeAll(async () => {
    skillbox = await openSkillbox(tempDir('data'));
  });
  afterAll(() => skillbox?.close());

  test('SB-06 an input over 128 KiB is only in the file, and the result says so', async () => {
    const skill = newSkill('bash', 'env | grep -c ^SANDBOX_INPUT=; wc -c < /sandbox/input.json\n');
    const record = await runSkill(skillbox, skill, { input: 'x'.repeat(200_000) });
    expect(await textOf(skillbox, record)).toBe('0\n200002\n');
    expect(record.warnings).toEqual([expect.stringContaining('SANDBOX_INPUT is over 128 KiB')]);
  });

  test('SB-06 an input just below it is in both', async () => {
    const skill = newSkill('bash', 'printf %s "$SANDBOX_INPUT" | wc -c; wc -c < /sandbox/input.json\n');
    const record = await runSkill(skillbox, skill, { input: 'x'.repeat(131_050) });
    expect(await textOf(skillbox, record)).toBe('131052\n131052\n');
    expect(record.warnings).toEqual([]);
  });

  test('SB-10 both streams are logged in the order read, each piece with its time', async () => {
    const skill = newSkill('bash', 'echo 1; sleep 0.1; echo 2 >&2; sleep 0.1; echo 3; exit 9\n');
    const record = await runSkill(skillbox, skill);
    const { entries } = await skillbox.readLogs(record.id, 0);
    expect(entries.map(({ stream, bytes }) => [stream, bytes.toString()])).toEqual([
      ['stdout', '1\n'],
      ['stderr', '2\n'],
      ['stdout', '3\n'],
    ]);
    const times = entries.map(({ timeMs }) => timeMs);
    expect(times.toSorted((a, b) => a - b)).toEqual(times);
    expect(record).toMatchObject({ state: 'failed', exitCode: 9, logBytes: 6 });
  });

  test('SK-14 a seksbot skill gets its task, and no network but the broker', async () => {
    await skillbox.secrets.set('anthropic', Buffer.from('sk-0123456789'), null, { id: 'tester', channel: 'local' });
    const record = await runSkill(skillbox, join(PROBES, 'seks-probe'), { input: 'summarise this' });
    expect(record).toMatchObject({ state: 'success', warnings: [] });
    expect(record.output).toMatchObject({
      env: {
        SEKS_SKILL_TASK: 'summarise this',
        SEKS_SKILL_NAME: 'seks-probe',
        SANDBOX_INPUT: '"summarise this"',
        SEKS_BROKER_URL: 'http://127.0.0.1:3128',
      },
      input: '"summarise this"',
      network: 'ENETUNREACH',
    });
  });

  test('SK-14 a command after -- runs in place of the entrypoint', async () => {
    const record = await runSkill(skillbox, join(PROBES, 'seks-probe'), {
      target: { kind: 'command', argv: ['bash', '-c', 'echo "$1" $SEKS_SKILL_NAME', 'x', 'a  b'] },
    });
    expect(record).toMatchObject({ state: 'success', target: 'bash' });
    expect(await textOf(skillbox, record)).toBe('a  b seks-probe\n');
  });

  test('SK-10 the command may be seksh itself', async () => {
    const list = await runSkill(skillbox, join(PROBES, 'seks-probe'), {
      target: { kind: 'command', argv: ['seksh', 'list'] },
    });
    expect(list).toMatchObject({ state: 'success', target: 'seksh' });
  });

  test('SK-14 a command without a program, or with a NUL, is the caller’s fault', async () => {
    for (const argv of [[], [''], ['bash', '-c', 'a\0b']])
      await expect(
        runSkill(skillbox, join(PROBES, 'seks-probe'), { target: { kind: 'command', argv } }),
      ).rejects.toMatchObject({
        code: 'INVALID_CALL',
      });
  });

  test('X-14 an image that is not here is refused, and no run is recorded', async () => {
    const before = await skillbox.listRuns({ states: null, limit: 1000 });
    const skill = newSkill('bash', 'echo ran\n', 'image: evil/image:latest\n');
    await expect(runSkill(skillbox, skill)).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
    const ours = newSkill('bash', 'echo ran\n', 'image: bash:5\n');
    expect(await runSkill(skillbox, ours)).toMatchObject({
      state: 'success',
      sandbox: { runtime: expect.stringMatching(/^bash 5.*, host$/) },
    });
    const runs = await skillbox.listRuns({ states: null, limit: 1000 });
    expect(runs).toHaveLength(before.length + 1);
  });

  test('X-09 the limits that a skill asks for hold', async () => {
    const skill = newSkill(
      'python',
      'held = [bytearray(b"x") * 8_000_000 for _ in range(40)]\nprint("held")\n',
      'resources:\n  memory: 64Mi\n',
    );
    const record = await runSkill(skillbox, skill);
    expect(record.state).toBe('failed');
    // Without a cgroup the kernel refuses Python's own allocation first: a clean MemoryError.
    if (record.sandbox?.enforces.memory === 'kernel-tree') expect(record.error?.code).toBe('OUT_OF_MEMORY');
    else expect(await textOf(skillbox, record)).toContain('MemoryError');
  });
});
