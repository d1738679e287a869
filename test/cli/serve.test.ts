import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { run } from '../fake-io.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const PROGRAM = join(import.meta.dirname, '../../src/cli/skillbox.ts');
const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

type Served = { child: ChildProcess; url: string; out: () => string; err: () => string; directory: string };

/** The program itself, as a service manager would start it. */
async function serve(directory: string, words: string[] = [], env: Record<string, string> = {}): Promise<Served> {
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--port', '0', ...words], {
    env: { PATH: process.env.PATH ?? '', HOME: directory, SKILLBOX_DATA_DIR: directory, SKILLBOX_WARM: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const text = { out: '', err: '' };
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    text.out += piece;
  });
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    text.err += piece;
  });
  const url = await vi.waitFor(
    () => {
      const found = /Serving at (http:\S+)/.exec(text.err)?.[1];
      if (found === undefined && child.exitCode === null) throw new Error(`it does not serve: ${text.err}`);
      return found;
    },
    { timeout: 30_000, interval: 50 },
  );
  if (url === undefined) throw new Error(`it has ended: ${text.err}`);
  return { child, url, out: () => text.out, err: () => text.err, directory };
}

const ended = async ({ child }: Served) => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? child.signalCode;
};
const keyIn = (directory: string) => readFileSync(join(directory, 'first-key'), 'utf8').trim();
const get = (url: string, key?: string) =>
  fetch(url, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });

/** Publishes the example that takes its time. */
async function publishSlow(url: string, key: string, directory: string): Promise<void> {
  const zip = join(directory, 'slow.zip');
  const folder = join(import.meta.dirname, '../../examples/skillbox/slow-steps');
  expect((await run(['skill', 'package', folder, '-o', zip])).code).toBe(0);
  const answer = await fetch(`${url}/v1/skills`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/zip' },
    body: readFileSync(zip),
  });
  expect(answer.status, await answer.text()).toBe(201);
}

const post = (url: string, key: string, body: unknown) =>
  fetch(`${url}/v1/executions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe.skipIf(NO_SANDBOX)('skillbox serve', { timeout: 60_000 }, () => {
  it('makes a first key once, gives it to nobody but the owner, and serves with it', async () => {
    const directory = tempDir('serve');
    const first = await serve(directory);
    expect(first.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const key = keyIn(directory);
    expect(statSync(join(directory, 'first-key')).mode & 0o777).toBe(0o600);
    expect((await get(`${first.url}/health`)).status).toBe(200);
    const ready = await get(`${first.url}/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([
      200,
      { status: 'ready', checks: { database: 'ok', blobs: 'ok' } },
    ]);
    expect((await get(`${first.url}/v1/skills`)).status).toBe(401);
    expect((await get(`${first.url}/v1/skills`, key)).status).toBe(200);
    expect((await get(`${first.url}/metrics`, key)).status).toBe(200);
    first.child.kill('SIGTERM');
    expect(await ended(first)).toBe(0);
    expect(first.err()).toContain('first-key');
    expect(first.err() + first.out()).not.toContain(key);
    expect(first.out()).toContain('"status":401');
    rmSync(join(directory, 'first-key'));
    // The second time there are keys already.
    const second = await serve(directory);
    expect(existsSync(join(directory, 'first-key'))).toBe(false);
    expect((await get(`${second.url}/v1/skills`, key)).status).toBe(200);
    second.child.kill('SIGINT');
    expect(await ended(second)).toBe(0);
    const third = await serve(directory);
    third.child.kill('SIGHUP');
    expect(await ended(third)).toBe(0);
    expect(third.err()).toContain('Stopping.');
  });

  it('a person at a terminal is shown the first key once, and it lies nowhere', () => {
    const directory = tempDir('serve');
    const player = join(import.meta.dirname, '../support/terminal.py');
    const env = { PATH: process.env.PATH ?? '', HOME: directory, SKILLBOX_DATA_DIR: directory, SKILLBOX_WARM: '0' };
    const play = (): { screen: string; code: number } => {
      const steps = JSON.stringify([{ wait: 'Serving at', type: '\u0003', after: 0.3 }]);
      const words = [player, '120', steps, '--', process.execPath, PROGRAM, 'serve', '--port', '0'];
      return JSON.parse(execFileSync('python3', words, { env, encoding: 'utf8' })) as { screen: string; code: number };
    };
    const first = play();
    const key = /sbx_[0-9a-z]{26}_[A-Za-z0-9_-]{51}/.exec(first.screen)?.[0];
    expect([key === undefined, first.code]).toEqual([false, 0]);
    expect(first.screen).toContain('not shown again');
    // Not in what is logged, which is JSON.
    for (const line of first.screen.split(/\r?\n/).filter(each => each.startsWith('{')))
      expect(line).not.toContain('sbx_');
    expect(existsSync(join(directory, 'first-key'))).toBe(false);
    const second = play();
    expect([second.screen.includes('sbx_'), second.code]).toEqual([false, 0]);
  });

  it('says at its start when the sandbox cannot hold what runs here must have, and what to do', async () => {
    const directory = tempDir('serve');
    writeFileSync(join(directory, 'policy.yaml'), 'version: 1\nleast: { workspace: kernel-tree }\n');
    const served = await serve(directory, [], { SKILLBOX_CONFIG_DIR: directory });
    await vi.waitFor(() => expect(served.err()).toContain('docs/operations.md'));
    expect(served.err()).toMatch(/warning: every run will be refused\. .*workspace: polled, not kernel-tree/);
  });

  it('a key that the operator makes or revokes beside it counts', async () => {
    const directory = tempDir('serve');
    const served = await serve(directory);
    const env = { SKILLBOX_DATA_DIR: directory, HOME: directory };
    const made = JSON.parse((await run(['key', 'create', 'x', '--json'], { env })).out) as {
      key: { id: string };
      secret: string;
    };
    expect((await get(`${served.url}/v1/skills`, made.secret)).status).toBe(200);
    await run(['key', 'revoke', made.key.id], { env });
    await vi.waitFor(async () => expect((await get(`${served.url}/v1/skills`, made.secret)).status).toBe(401), {
      timeout: 10_000,
      interval: 200,
    });
  });

  it('says in a sentence why it cannot listen', async () => {
    const directory = tempDir('serve');
    const { url } = await serve(directory);
    const env = { SKILLBOX_DATA_DIR: tempDir('serve'), HOME: directory };
    const port = new URL(url).port;
    const taken = await run(['serve', '--port', port], { env });
    expect([taken.code, taken.err]).toEqual([7, expect.stringContaining('something else listens there already')]);
    // And no key was made that nobody has seen.
    expect(readdirSync(env.SKILLBOX_DATA_DIR)).not.toContain('first-key');
    expect((await run(['key', 'list'], { env })).err).toContain('no keys yet');
  });

  it.each([
    [['--host', '0.0.0.0'], '--public'],
    [['--host', '::'], '--public'],
    [['--host', '192.168.1.1'], '--public'],
    [['--port', '70000'], 'port'],
    [['--port', 'x'], 'port'],
  ])('%j is refused, and says what to do', async (words, text) => {
    const env = { SKILLBOX_DATA_DIR: join(tempDir('serve'), 'not-yet'), HOME: '/nonexistent' };
    const ran = await run(['serve', ...words], { env });
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(text)]);
    expect(existsSync(env.SKILLBOX_DATA_DIR)).toBe(false);
  });

  it('asked to end, it lets a run end and answers who waits for it', async () => {
    const directory = tempDir('serve');
    const served = await serve(directory);
    const key = keyIn(directory);
    await publishSlow(served.url, key, directory);
    const waiting = post(served.url, key, { skill: 'slow-steps', input: { steps: 4, seconds: 0.5 } });
    await vi.waitFor(
      async () => {
        const listed = (await (await get(`${served.url}/v1/executions?state=running`, key)).json()) as {
          items: unknown[];
        };
        expect(listed.items).toHaveLength(1);
      },
      { timeout: 20_000, interval: 100 },
    );
    served.child.kill('SIGTERM');
    const answer = await waiting;
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { status: 'success', output: { done: 4, complete: true } },
    ]);
    expect(await ended(served)).toBe(0);
    const line = served
      .out()
      .split('\n')
      .find(each => each.includes('"route":"/v1/executions"') && each.includes('POST'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      status: 200,
      tenant: 'default',
      run: expect.stringMatching(/^0/),
    });
  });

  it('a second signal ends it at once', async () => {
    const directory = tempDir('serve');
    const served = await serve(directory, [], { SKILLBOX_RUNS_DRAIN_DEADLINE: '60s' });
    // A request that is on the way holds it up.
    const { connect } = await import('node:net');
    const { hostname, port } = new URL(served.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    const head = ['POST /v1/executions HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${keyIn(directory)}`];
    socket.write(`${[...head, 'Content-Type: application/json', 'Content-Length: 1000'].join('\r\n')}\r\n\r\n{`);
    await once(socket, 'connect');
    await new Promise(resolve => setTimeout(resolve, 300));
    served.child.kill('SIGTERM');
    await vi.waitFor(() => expect(served.err()).toContain('Stopping'), { timeout: 5000 });
    await new Promise(resolve => setTimeout(resolve, 300));
    expect(served.child.exitCode).toBeNull();
    served.child.kill('SIGINT');
    expect(await ended(served)).toBe('SIGINT');
    socket.destroy();
  });
});
