import { existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/base/index.ts';
import { listening, publish, type Served, serveWorld, start } from '../api/world.ts';
import { type Ran, run } from '../fake-io.ts';
import { tempDirectory } from '../temp.ts';

/** A server that says something else than ours would; what it says is shown to a person, and written to their disk. */
let served: Served;
let front: Server;
let env: Record<string, string>;
const cwd = tempDirectory();
type Lie = (path: string, said: never) => unknown;
let lie: Lie;
/** Answered instead of everything, as a refusal. */
let refusal: JsonObject | null = null;

beforeAll(async () => {
  served = await serveWorld();
  const behind = await listening(served.server);
  front = createServer((asked, given) => void pass(behind, asked, given));
  await new Promise<void>(done => front.listen(0, '127.0.0.1', done));
  env = {
    SKILLBOX_SERVER_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    SKILLBOX_API_KEY: 'all',
    SKILLBOX_DATA_DIR: join(cwd, 'data'),
    XDG_CONFIG_HOME: join(cwd, 'config'),
    HOME: cwd,
  };
});
beforeEach(async () => {
  served.world.tenants.clear();
  lie = (_path, said) => said;
  refusal = null;
  for (const name of ['hello', 'wait-a']) await publish(served.server, name);
});
afterAll(async () => {
  front.closeAllConnections();
  await new Promise(done => front.close(done));
  await served.server.close();
});

async function pass(behind: string, asked: IncomingMessage, given: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of asked) parts.push(part as Buffer);
  if (refusal !== null) {
    given.writeHead(422).end(JSON.stringify(refusal));
    return;
  }
  const { authorization = '', accept = '', 'content-type': type = '' } = asked.headers;
  const answer = await fetch(`${behind}${asked.url}`, {
    method: asked.method ?? 'GET',
    headers: { authorization, accept, prefer: 'respond-async', ...(type === '' ? {} : { 'content-type': type }) },
    body: parts.length > 0 ? Buffer.concat(parts) : null,
  });
  const body = Buffer.from(await answer.arrayBuffer());
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  const path = new URL(asked.url ?? '', behind).pathname;
  given.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
  given.end(isJson && answer.ok ? JSON.stringify(lie(path, JSON.parse(body.toString()) as never)) : body);
}

const there = (words: string): Promise<Ran> => run(words.split(' '), { cwd, env });

/** Every field on the way down whose name is this gets the value. */
function everywhere(name: string, value: unknown, said: unknown): unknown {
  if (Array.isArray(said)) return said.map(each => everywhere(name, value, each));
  if (typeof said !== 'object' || said === null) return said;
  const entries = Object.entries(said as JsonObject);
  return Object.fromEntries(entries.map(([own, v]) => [own, own === name ? value : everywhere(name, value, v)]));
}

const EVIL = '\u001b]0;mine\u0007\u001b[2K\u202e';

describe('a server that is hostile', () => {
  it.each([
    ['skill list', ['name', 'version', 'tags']],
    ['skill versions hello', ['version']],
    ['skill yank hello 1.0.0', ['name', 'version']],
    ['exec list', ['execution_id', 'state']],
    ['approve list', ['execution_id', 'trust']],
    ['audit list', ['type']],
    ['secret list', ['name', 'kind']],
    ['key list', ['id', 'tenant', 'scopes']],
    ['tenant list', ['name', 'running']],
    ['run hello', ['driver', 'runtime', 'state', 'error_code']],
    ['approve show', ['kind', 'trust', 'network', 'dialect']],
    ['activate hello', ['text']],
  ])('%s: what it says does not steer the terminal', async (words, names) => {
    const id = await start(served.server, 'wait-a', 'run');
    await run(['secret', 'set', 'custom/a'], { cwd, env, stdin: 'v4lue' });
    await run(['key', 'create', 'k'], { cwd, env });
    await run(['tenant', 'create', `t-${words.replaceAll(' ', '-')}`], { cwd, env });
    for (const name of names) {
      lie = (_path, said) => everywhere(name, name === 'tags' || name === 'scopes' ? [EVIL] : EVIL, said);
      const { out, err } = await there(words === 'approve show' ? `${words} ${id}` : words);
      expect([name, `${out}${err}`]).toEqual([name, expect.not.stringMatching(/[\u001b\u0007\u202e]/)]);
      expect(`${out}${err}`).not.toBe('');
    }
  });

  it.each([
    'skill list',
    'skill versions hello',
    'run hello',
    'run hello --dry-run',
    'exec list',
    'exec logs 01k2',
    'approve list',
    'audit list',
    'audit verify',
    'secret list',
    'key list',
    'tenant list',
    'activate hello',
  ])('%s: another API that answers as if all were well is told as that, and is no fault of ours', async words => {
    for (const said of [{ status: 'ok' }, [], [{ id: 1 }], { items: [{}], next: null }, { skill: 'hello' }]) {
      lie = () => said;
      const { code, err } = await there(words);
      // An empty list is one.
      if (code !== 0) expect([code, err]).toEqual([7, expect.stringContaining('no Skillbox server')]);
      else expect(said).toEqual([]);
    }
  });

  it.each([
    ['../evil/out/hello.html', 'would be written out of'],
    ['/evil', 'without a name'],
    ['out/../../evil/hello.html', 'would be written out of'],
  ])('a file that would be called %s is not written, and no folder for it', async (path, said) => {
    const inside = mkdtempSync(join(cwd, 'files-'));
    const target = join(inside, 'here');
    mkdirSync(target);
    lie = (_path, all) => everywhere('artifacts', [{ path, size: 5, sha256: 'a'.repeat(64) }], all);
    const { code, err } = await there(`run hello --download ${target}`);
    expect([code > 0, err]).toEqual([true, expect.stringContaining(said)]);
    expect([readdirSync(inside), readdirSync(target), existsSync('/evil')]).toEqual([['here'], [], false]);
  });

  it('a file that is larger than it was said to be is given up on', async () => {
    const target = mkdtempSync(join(cwd, 'files-'));
    lie = (_path, said) => everywhere('size', 2, said);
    const { code, err } = await there(`run hello --download ${target}`);
    expect([code, err]).toEqual([1, expect.stringContaining('did not arrive as it was stored')]);
    expect(readdirSync(join(target, 'out'))).toEqual([]);
  });

  it('an id that is a path names no file', async () => {
    const target = mkdtempSync(join(cwd, 'files-'));
    lie = (_path, said) => everywhere('execution_id', '/../../evil', said);
    expect((await there(`run hello --download ${target}`)).code).toBe(7);
    expect(existsSync(join(cwd, 'evil.part'))).toBe(false);
  });

  it('what it says is wrong with a skill is shown as far as it can be, and steers nothing', async () => {
    const good = { code: 'a', severity: 'error', message: 'no good', file: 'SKILL.md', line: 1, column: 1, hint: 'h' };
    const diagnostics = [good, null, 7, { ...good, message: 7 }, { ...good, code: EVIL, message: 'never' }];
    refusal = { error: 'INVALID_SKILL', message: 'refused', hint: '', details: { diagnostics }, request_id: 'r' };
    const { code, err } = await there(`skill push ${resolve('examples/skillbox/word-count')}`);
    expect([code, err]).toEqual([3, expect.stringContaining('no good')]);
    expect(err).not.toMatch(/[\u001b\u202e]|\n\s+at |never/);
  });

  it('an ending of another version is no fault of ours', async () => {
    lie = (_path, said) => everywhere('end', { kind: 'evicted' }, said);
    const { code, out, err } = await there('run hello');
    expect([code, out, err]).toEqual([1, expect.stringContaining('hello main: success'), 'one\ntwo\nthree\n']);
  });
});
