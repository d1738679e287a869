import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const temp = tempDirectory();
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** `skillbox mcp --http 0`, and what it says. */
async function startHttp(more: Record<string, string>) {
  const home = mkdtempSync(join(temp, 'home-'));
  mkdirSync(join(home, 'work'));
  writeFiles(home, { 'skills/strange/SKILL.md': '---\nname: strange\ndescription: Strange.\n---\nx\n' });
  const program = join(import.meta.dirname, '../../src/cli/skillbox.ts');
  const env = { PATH: process.env.PATH ?? '', HOME: home, SKILLBOX_DATA_DIR: join(home, 'data'), ...more };
  const child = spawn(process.execPath, [program, 'mcp', '--http', '0', '--workspace', 'work'], { cwd: home, env });
  started.push(child);
  let said = '';
  child.stderr.on('data', (part: Buffer) => {
    said += part.toString('utf8');
  });
  await vi.waitFor(() => expect(said).toMatch(/Serving MCP at \S+\n/), { timeout: 15_000, interval: 25 });
  const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)));
  return { child, ended, url: /MCP at (\S+)/.exec(said)?.[1] ?? '', said: () => said };
}

const BEGIN = JSON.stringify({
  jsonrpc: '2.0',
  id: 8,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tester', version: '1.0.0' } },
});
type Answer = { id: number | null; error?: { code: number; message: string } };

/** What `skillbox mcp` answers to these lines, by id, once it has answered the one with id 9. */
async function talk(lines: readonly string[]): Promise<Answer[]> {
  const home = mkdtempSync(join(temp, 'home-'));
  const program = join(import.meta.dirname, '../../src/cli/skillbox.ts');
  const env = { PATH: process.env.PATH ?? '', HOME: home, SKILLBOX_DATA_DIR: join(home, 'data') };
  const child = spawn(process.execPath, [program, 'mcp'], { cwd: home, env, stdio: ['pipe', 'pipe', 'ignore'] });
  started.push(child);
  for (const line of lines) child.stdin.write(`${line}\n`);
  const answers: Answer[] = [];
  for await (const line of createInterface(child.stdout)) {
    answers.push(JSON.parse(line) as Answer);
    if (answers.at(-1)?.id === 9) child.stdin.end();
  }
  return answers.sort((a, b) => (a.id ?? 0) - (b.id ?? 0));
}

async function connect(url: string, key: string): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1.0.0' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

describe('skillbox mcp', () => {
  test('by HTTP it makes a key, shows it, serves, and ends when it is told to', async () => {
    const { child, ended, url, said } = await startHttp({});
    await vi.waitFor(() => expect(said()).toContain('Bearer '), { timeout: 5000, interval: 25 });
    const key = /Bearer (\S+)/.exec(said())?.[1] ?? '';
    expect(key.length).toBeGreaterThanOrEqual(32);
    await expect(connect(url, 'wrong')).rejects.toThrow();
    const client = await connect(url, key);
    const written = await client.callTool({ name: 'file_write', arguments: { path: 'a.md', content: 'x' } });
    expect(written.structuredContent).toMatchObject({ path: 'a.md' });
    await client.close();
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('says which skills it does not show, to people alone', async () => {
    const key = 'a-key-of-the-user-0123';
    const { url, said } = await startHttp({ SKILLBOX_MCP_KEY: key });
    expect(said()).toMatch(
      /skills holds 1 skill that nobody vouches for; not shown\. .*skillbox trust add \S+skills\n/,
    );
    const client = await connect(url, key);
    expect(JSON.stringify(await client.listTools())).not.toContain('strange');
    await client.close();
  });

  test('a key from the environment is not shown', async () => {
    const { url, said } = await startHttp({ SKILLBOX_MCP_KEY: 'a-key-of-the-user-0123' });
    const client = await connect(url, 'a-key-of-the-user-0123');
    expect((await client.listTools()).tools.length).toBeGreaterThan(5);
    await client.close();
    expect(said()).not.toContain('a-key-of-the-user');
  });

  test('who shows no key, or a wrong one, is told where the right one is from', async () => {
    const { url } = await startHttp({ SKILLBOX_MCP_KEY: 'the-key-that-was-set' });
    for (const headers of [{}, { authorization: 'Bearer some-other-key-here' }]) {
      const refused = await fetch(url, { method: 'POST', headers, body: '{}' });
      const { error } = (await refused.json()) as { error: { data: { hint: string } } };
      expect([refused.status, error.data.hint]).toEqual([401, expect.stringContaining('skillbox mcp --http')]);
      expect(error.data.hint).toMatch(/SKILLBOX_MCP_KEY.*--allow-key/);
      expect(error.data.hint).not.toContain('SKILLBOX_API_KEY');
    }
  });

  test('over streams a message that is too large ends it, and it says why', async () => {
    const home = mkdtempSync(join(temp, 'home-'));
    const program = join(import.meta.dirname, '../../src/cli/skillbox.ts');
    const env = { PATH: process.env.PATH ?? '', HOME: home, SKILLBOX_DATA_DIR: join(home, 'data') };
    const child = spawn(process.execPath, [program, 'mcp'], { cwd: home, env, stdio: ['pipe', 'ignore', 'pipe'] });
    started.push(child);
    child.stdin.on('error', () => undefined); // it does not read to the end
    child.stdin.write('x'.repeat(11 * 1024 ** 2));
    let said = '';
    for await (const part of child.stderr) said += String(part);
    expect(said).toContain('a message of more than 10 MiB');
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(2);
  });

  test('over streams what is no message is answered, and the next message is read', async () => {
    const answers = await talk([
      'hello',
      '\x00\xff{',
      '   ',
      '',
      '[]',
      '{"jsonrpc":"1.0","id":7,"method":"ping"}',
      // Answers are not answered, whatever they are.
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}',
      '{"jsonrpc":"2.0","id":{},"result":5}',
      BEGIN,
      '{"jsonrpc":"2.0","id":9,"method":"ping"}',
    ]);
    expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
      [null, -32700],
      [null, -32700],
      [null, -32600],
      [7, -32600],
      [8, undefined],
      [9, undefined],
    ]);
  });

  test("arguments that are not the protocol's are the client's fault, and not an internal error", async () => {
    const wrong = [
      ['resources/read', {}],
      ['resources/read', undefined],
      ['resources/read', { uri: [5] }],
      ['resources/list', { cursor: 5 }],
      ['resources/templates/list', { cursor: {} }],
      ['tools/list', { cursor: 5 }],
      ['initialize', {}],
    ] as const;
    const asked = wrong.map(([method, params], at) => JSON.stringify({ jsonrpc: '2.0', id: 100 + at, method, params }));
    const last = '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"list_skills"}}';
    const refused = (await talk([BEGIN, ...asked, last])).filter(({ id }) => Number(id) >= 100);
    expect(refused.map(({ error }) => error?.code)).toEqual(wrong.map(() => -32602));
    expect(refused[0]?.error?.message).toBe('Invalid params: uri: Invalid input: expected string, received undefined');
  });

  test.each([
    [['mcp', '--http', 'abc'], {}, /is no port/],
    [['mcp', '--http', '70000'], {}, /is no port/],
    [['mcp', '--http', '0'], { SKILLBOX_MCP_KEY: 'short' }, /SKILLBOX_MCP_KEY/],
    [['mcp', '--http', '0', '--workspace', 'nowhere'], {}, /no workspace/],
    [['mcp', '--http', '0', '--workspace', '/'], {}, /holds your home/],
  ])('%j is refused', async (words, env, message) => {
    const cwd = mkdtempSync(join(temp, 'cwd-'));
    const { code, err } = await run(words, { cwd, env: { SKILLBOX_DATA_DIR: join(cwd, 'data'), ...env } });
    expect([code === 0, message.test(err)]).toEqual([false, true]);
  });
});
