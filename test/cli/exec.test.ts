import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { GUARANTEES } from '../../src/app.ts';
import { run as runWords } from '../fake-io.ts';
import { NO_SANDBOX, newSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const env = { SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'), PATH: process.env.PATH ?? '' };
const run = (...words: string[]) => runWords(words, { env, own: true });

describe.skipIf(NO_SANDBOX)('skillbox exec', () => {
  let good: string;
  let bad: string;
  beforeAll(async () => {
    const idOf = async (skill: string) => JSON.parse((await run('run', skill, '--json')).out).execution_id;
    good = await idOf(
      newSkill('bash', 'echo out; sleep 0.05; printf "err\\e[1m\\n" >&2; echo 7 > "$SANDBOX_OUTPUT"\n'),
    );
    bad = await idOf(newSkill('bash', 'exit 4\n'));
  });

  test('list is the newest first, by state, bounded, and as JSON', async () => {
    const { out } = await run('exec', 'list');
    expect(
      out
        .trim()
        .split('\n')
        .map(line => line.trim().split(/\s+/)[0]),
    ).toEqual([bad, good]);
    expect(out).toMatch(/failed .*probe main/);
    const one = JSON.parse((await run('exec', 'list', '--limit', '1', '--json')).out);
    expect(one.runs).toEqual([
      {
        execution_id: bad,
        status: 'failed',
        exit_code: 4,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        duration_ms: expect.any(Number),
        error: { code: 'EXITED', message: expect.any(String) },
        skill: expect.objectContaining({ name: 'probe' }),
        target: 'main',
      },
    ]);
    const succeeded = JSON.parse((await run('exec', 'list', '--state', 'success', '--json')).out);
    expect(succeeded.runs.map((each: { execution_id: string }) => each.execution_id)).toEqual([good]);
    expect(await run('exec', 'list', '--limit', '0')).toMatchObject({ code: 2 });
    expect(await run('exec', 'list', '--state', 'done')).toMatchObject({
      code: 2,
      err: expect.stringContaining('collecting'),
    });
  });

  test('show answers as run did, by the id or the beginning of it', async () => {
    const shown = JSON.parse((await run('exec', 'show', good, '--json')).out);
    expect(shown).toMatchObject({ execution_id: good, status: 'success', output: 7, logs: 'out\nerr\u001b[1m\n' });
    const text = await run('exec', 'show', bad.slice(0, 25));
    expect(text).toMatchObject({ code: 0, out: expect.stringMatching(/✖ probe main: failed[\s\S]*EXITED/) });
    expect(await run('exec', 'show', 'zzzz')).toMatchObject({ code: 5, err: expect.stringContaining('exec list') });
    expect(await run('exec', 'show', good.slice(0, 4))).toMatchObject({
      code: 2,
      err: expect.stringContaining('several'),
    });
  });

  test('SB-10 logs come in order and apart, safe for a terminal', async () => {
    expect(await run('exec', 'logs', good)).toEqual({ code: 0, out: 'out\n', err: 'err<U+001B>[1m\n' });
    expect((await run('exec', 'logs', good, '--follow')).code).toBe(0);
    const lines = (await run('exec', 'logs', good, '--json')).out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    expect(lines).toEqual([
      { stream: 'stdout', time: expect.stringMatching(/Z$/), text: 'out\n' },
      { stream: 'stderr', time: expect.stringMatching(/Z$/), text: 'err\u001b[1m\n' },
    ]);
  });

  test('cancel of what has ended says so', async () => {
    expect(await run('exec', 'cancel', good)).toMatchObject({ code: 0, out: 'the run has ended already\n' });
    expect(JSON.parse((await run('exec', 'cancel', good, '--json')).out)).toEqual({ canceled: false });
    expect(await run('exec', 'cancel', 'zzzz')).toMatchObject({ code: 5 });
  });

  test('without runs there is nothing to list', async () => {
    const empty = { env: { SKILLBOX_DATA_DIR: join(tempDir('data'), 'new') } };
    expect(await runWords(['exec', 'list'], empty)).toEqual({ code: 0, out: '', err: 'There are no runs yet.\n' });
  });
});

describe.skipIf(NO_SANDBOX)('skillbox doctor', () => {
  test('--json names every driver and each of its guarantees, after trying', async () => {
    const { code, out } = await run('doctor', '--json');
    const { usable, drivers, warm } = JSON.parse(out);
    expect(warm).toMatchObject({ inAll: 0, ready: 0, standby: { inAll: 0, ready: 0, bytes: 0 } });
    expect({ code, usable }).toEqual({ code: 0, usable: true });
    const bubblewrap = drivers.find((each: { driver: string }) => each.driver === 'bubblewrap');
    expect(bubblewrap).toMatchObject({ usable: true, enforces: { files: 'kernel-tree', network: 'kernel-tree' } });
    expect(Object.keys(bubblewrap.enforces).sort()).toEqual([...GUARANTEES].sort());
    for (const { usable: works, problems } of drivers)
      if (!works) expect(problems.some((problem: { fatal: boolean }) => problem.fatal)).toBe(true);
  });

  test('for a person it is a table', async () => {
    const { out } = await run('doctor');
    expect(out).toMatch(/bubblewrap/);
    expect(out).toContain('warm pool: off\nbrokers and proxies held ready: off\n');
    for (const guarantee of GUARANTEES) expect(out).toContain(`${guarantee} `);
  });
});
