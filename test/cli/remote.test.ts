import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listening, publish, type Served, serveWorld, start } from '../api/world.ts';
import { type Ran, run } from '../fake-io.ts';
import { tempDirectory } from '../temp.ts';

let served: Served;
let env: Record<string, string>;
const cwd = tempDirectory();
beforeAll(async () => {
  served = await serveWorld();
  const url = await listening(served.server);
  env = {
    SKILLBOX_SERVER_URL: url,
    SKILLBOX_API_KEY: 'all',
    // Nothing may be made here: all of it happens on the server.
    SKILLBOX_DATA_DIR: join(cwd, 'data'),
    XDG_CONFIG_HOME: join(cwd, 'config'),
    HOME: cwd,
  };
});
beforeEach(async () => {
  served.world.fault = null;
  served.world.tenants.clear();
  for (const name of ['hello', 'fail-a', 'wait-a', 'slow-a']) await publish(served.server, name);
});
afterAll(async () => {
  expect(existsSync(join(cwd, 'data'))).toBe(false);
  await served.server.close();
});

const there = (words: string, more: { key?: string; stdin?: string } = {}): Promise<Ran> =>
  run(words.split(' '), {
    cwd,
    env: more.key === undefined ? env : { ...env, SKILLBOX_API_KEY: more.key },
    ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
  });
const json = async (words: string) => JSON.parse((await there(`${words} --json`)).out);

describe('skillbox run on a server', () => {
  it('runs what is published, and ends as the run does', async () => {
    const good = await there('run hello --input {"a":1}');
    expect([good.code, good.err]).toEqual([0, 'one\ntwo\nthree\n']);
    expect(good.out).toContain('✔ hello main: success');
    expect(good.out).toContain('"a": 1');
    expect((await there('run hello@1.0.0')).code).toBe(0);
    const bad = await there('run fail-a');
    expect([bad.code, bad.out]).toEqual([1, expect.stringContaining('it ended with exit code 3')]);
    const waits = await there('run wait-a');
    expect([waits.code, waits.out]).toEqual([4, expect.stringContaining('skillbox approve allow')]);
    expect((await there('run nothing')).code).toBe(5);
    expect((await there('run hello@')).code).toBe(0);
    expect(await there('run @1.0.0')).toMatchObject({ code: 5, err: expect.stringContaining('without a name') });
  });

  it('who names the server in the command is told to name it in the next one too', async () => {
    const { SKILLBOX_SERVER_URL: url = '', ...rest } = env;
    const waits = await run(['run', 'wait-a', '--server', url], { cwd, env: rest });
    expect(/skillbox approve show \S+( --server \S+)?/.exec(waits.out)?.[1]).toBe(` --server ${url}`);
    expect((await there('run wait-a')).out).not.toContain('--server');
  });

  it('prints the same document as on this machine', async () => {
    const result = await json('run hello');
    expect(Object.keys(result)).toEqual([
      'execution_id',
      'status',
      'exit_code',
      'end',
      'output',
      'logs',
      'files_list',
      'files_url',
      'artifacts',
      'duration_ms',
      'error',
      'warnings',
      'usage',
      'skill',
      'decision',
      'approval',
      'sandbox',
    ]);
    expect(result).toMatchObject({ status: 'success', logs: 'one\ntwo\nthree\n', files_list: ['out/hello.html'] });
    expect(await json(`exec show ${result.execution_id}`)).toEqual(result);
  });

  it('fetches the files, and none that did not arrive whole', async () => {
    const target = mkdtempSync(join(cwd, 'files-'));
    expect((await there(`run hello --download ${target}`)).code).toBe(0);
    expect(readFileSync(join(target, 'out/hello.html'), 'utf8')).toBe('hello');
    const later = mkdtempSync(join(cwd, 'files-'));
    const { execution_id: id } = await json('run hello');
    expect((await there(`exec show ${id} --download ${later}`)).code).toBe(0);
    expect(readFileSync(join(later, 'out/hello.html'), 'utf8')).toBe('hello');
    served.world.corrupt = true;
    const other = mkdtempSync(join(cwd, 'files-'));
    const broken = await there(`run hello --download ${other}`);
    served.world.corrupt = false;
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining('did not arrive as it was stored')]);
    expect(existsSync(join(other, 'out/hello.html'))).toBe(false);
  });

  it.each([
    ['run ./hello', 'skillbox skill push ./hello'],
    ['run hello.zip', 'skillbox skill push hello.zip'],
    ['run .', 'skillbox skill push .'],
    ['run hello --workspace .', 'for runs on this machine'],
    ['run hello --sandbox process', 'nor in SKILLBOX_SERVER_URL'],
    ['run hello --dialect skillbox', 'for runs on this machine'],
    ['run hello --yes', 'somebody else answers'],
  ])('%s: says what to do instead', async (words, said) => {
    const { code, err } = await there(words);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
    expect(served.world.tenant('acme').runs.size).toBe(0);
  });

  it('shows what would run, and runs nothing', async () => {
    expect(await json('run hello --dry-run')).toEqual({ skill: 'hello', verdict: 'allow' });
    expect(served.world.tenant('acme').runs.size).toBe(0);
  });
});

describe('other commands on a server', () => {
  it('exec', async () => {
    const id = await start(served.server, 'slow-a');
    await start(served.server, 'hello');
    expect((await there('exec list')).out.split('\n').length).toBe(3);
    expect(
      (await json('exec list --state running')).runs.map((each: { execution_id: string }) => each.execution_id),
    ).toEqual([id]);
    expect((await there(`exec show ${id.slice(0, 24)}`)).code).toBeLessThan(6);
    expect((await there('exec show zz')).code).toBe(5);
    served.world.print('acme', id, 'a line\n');
    expect((await there(`exec logs ${id}`)).out).toBe('a line\n');
    setTimeout(() => {
      served.world.print('acme', id, 'another\n');
      served.world.end('acme', id);
    }, 30);
    expect((await there(`exec logs ${id} --follow`)).out).toBe('a line\nanother\n');
    expect((await there(`exec cancel ${id}`)).out).toBe('the run has ended already\n');
    expect(await json(`exec cancel ${await start(served.server, 'slow-a')}`)).toEqual({ canceled: true });
  });

  it('shows what a run has printed so far, and what one printed whose server was killed', async () => {
    const id = await start(served.server, 'slow-a');
    served.world.print('acme', id, 'so far\n');
    expect(await json(`exec show ${id}`)).toMatchObject({ status: 'running', logs: 'so far\n' });
    expect((await there(`exec show ${id}`)).out).toContain('… slow-a main: running');
    const error = { code: 'INTERRUPTED', message: 'the process that ran it died' };
    served.world.end('acme', id, { state: 'failed', exitCode: null, error, logBytes: 0 });
    expect(await json(`exec show ${id}`)).toMatchObject({ status: 'failed', logs: 'so far\n' });
  });

  it('approve', async () => {
    const id = await start(served.server, 'wait-a', 'run');
    expect((await there('approve list')).out).toContain(`${id}  wait-a main (known) asked for by run`);
    expect((await json(`approve show ${id}`)).command).toEqual(['bash', 'main.sh']);
    setTimeout(() => served.world.end('acme', id, { ending: { kind: 'exited', code: 0 } }), 30);
    const allowed = await there(`approve allow ${id} --always`);
    expect([allowed.code, allowed.out]).toEqual([0, expect.stringContaining('wait-a main: success')]);
    const [answer] = (await json('approve list')).answers;
    expect(answer).toMatchObject({ answer: 'always', by: 'all' });
    expect((await there(`approve revoke ${answer.id}`)).out).toBe('taken back: always for wait-a main\n');
    const own = await start(served.server, 'wait-a', 'all');
    expect((await there(`approve allow ${own}`)).code).toBe(4);
    const other = await start(served.server, 'wait-a', 'run');
    expect((await there(`approve deny ${other}`)).code).toBe(0);
  });

  it('approve: whoever may answer and nothing else answers, and is told what they may not see', async () => {
    const id = await start(served.server, 'wait-a', 'run');
    const as = (words: string) => there(words, { key: 'approve' });
    for (const word of [id, id.slice(0, 25)]) {
      const shown = await as(`approve show ${word} --json`);
      expect([shown.code, shown.err, JSON.parse(shown.out).execution_id]).toEqual([0, '', id]);
    }
    const allowed = await as(`approve allow ${id}`);
    expect(allowed).toMatchObject({ code: 0, out: expect.stringContaining('wait-a main: queued') });
    expect(allowed.err).toBe('How it ends is for keys with the scope read to see.\n');
    const other = await start(served.server, 'wait-a', 'run');
    const denied = await as(`approve deny ${other} --json`);
    expect([denied.code, JSON.parse(denied.out)]).toEqual([
      0,
      expect.objectContaining({ status: 'failed', end: { kind: 'denied' } }),
    ]);
    expect((await as('approve show 00')).code).toBe(5);
  });

  it('exec cancel: whoever may run may end, without seeing', async () => {
    const id = await start(served.server, 'slow-a', 'run');
    expect(await there(`exec cancel ${id}`, { key: 'run' })).toMatchObject({ code: 0, out: 'asked to end\n' });
    expect((await there('exec cancel 01k2zzzzzzzzzzzzzzzzzzzzzz', { key: 'run' })).code).toBe(5);
  });

  it('secret', async () => {
    const set = await there('secret set custom/a --host a.example', { stdin: 'v4lue-of-mine' });
    expect([set.code, set.out]).toEqual([0, expect.stringContaining('custom/a is stored')]);
    expect(`${set.out}${set.err}`).not.toContain('v4lue');
    expect((await there('secret list')).out).toContain('custom/a');
    expect((await json('secret list')).secrets[0]).toMatchObject({ name: 'custom/a', class: 'custom' });
    expect((await there('secret rotate other')).code).toBe(5);
    expect((await there('secret remove custom/a')).out).toBe('removed custom/a\n');
  });

  it('catalog, activate, audit, skills, keys', async () => {
    expect((await there('catalog --format xml')).out).toContain('<available_skills>');
    expect((await there('catalog --limit 3')).code).toBe(2);
    expect((await there('activate hello')).out).toBe('# hello');
    expect((await json('activate hello@1.0.0')).version).toBe('1.0.0');
    expect((await there('audit list --type skill.published --limit 2')).out.split('\n').length).toBe(3);
    expect((await json('audit list')).entries.length).toBe(4);
    expect((await there('audit verify')).out).toContain('4 entries are whole');
    expect((await there('audit verify --against x')).code).toBe(2);
    expect((await there('skill list')).out).toContain('hello 1.0.0');
    expect((await json('skill versions hello')).versions.length).toBe(1);
    expect((await there('skill yank hello 1.0.0 --reason bad')).code).toBe(0);
    const made = await there('key create ci --scope read');
    expect([made.code, made.out.startsWith('sbx_')]).toEqual([0, true]);
    expect((await json('key list')).keys.length).toBe(1);
  });

  it('say why when there is no server, or no key for it', async () => {
    expect((await there('exec list', { key: 'wrong' })).code).toBe(7);
    expect((await there('exec list', { key: 'none' })).code).toBe(4);
    const none = await run(['whoami'], { cwd, env });
    expect(none.code).toBe(2);
    const deeper = await run(['exec', 'list', '--server', `${env.SKILLBOX_SERVER_URL}/v1`], { cwd, env });
    expect([deeper.code, deeper.err]).toEqual([
      2,
      expect.stringContaining('the address of the server ends before /v1'),
    ]);
    const nowhere = await run(['skill', 'list', '--server', 'http://127.0.0.1:9'], { cwd, env });
    expect([nowhere.code, nowhere.err.includes('all')]).toEqual([7, false]);
  }, 30_000);

  it.each([
    'exec list',
    'key list',
    'catalog',
    'skill list',
    'run hello --input {}',
    'run hello --dry-run',
    'approve show 01k2zzzzzzzzzzzzzzzzzzzzzz',
    'approve allow 01k2',
    'approve deny 01k2zzzzzzzzzzzzzzzzzzzzzz',
    'exec logs 01k2zzzzzzzzzzzzzzzzzzzzzz',
    'exec logs 01k2 --follow',
    'audit list',
  ])('%s: an interrupt ends the wait for a server that does not answer', async words => {
    const silent = createTcpServer(socket => socket.on('error', () => undefined).resume());
    await new Promise<void>(done => silent.listen(0, '127.0.0.1', done));
    const SKILLBOX_SERVER_URL = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    const ended = run(words.split(' '), { cwd, env: { ...env, SKILLBOX_SERVER_URL }, interrupt: controller.signal });
    const { code, err } = await Promise.race([ended, sleep(3000, { code: null, err: 'it goes on' })]);
    expect([code, err]).toEqual([1, expect.stringMatching(/^error: it was interrupted\n/)]);
    await new Promise(done => silent.close(done));
  });

  it('a name on a server means what is published there, whatever lies here', async () => {
    writeFileSync(resolve(cwd, 'hello'), 'not a skill');
    expect((await there('run hello')).code).toBe(0);
  });
});
