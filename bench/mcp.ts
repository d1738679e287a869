// npm run bench -- mcp: what the MCP entrance costs, with the official client, at three sizes; beside another server (mcp-peer.ts
// says which, and which not); and what it adds to a run.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { callTool, newSession, toolsOf } from '../src/agent/index.ts';
import type { JsonObject } from '../src/base/index.ts';
import { serveLoopback } from '../src/loopback.ts';
import { callerOf, createHost } from '../src/mcp/index.ts';
import { openSkillbox } from '../src/open.ts';
import { generateSkills } from './generate.ts';
import { benchPeer } from './mcp-peer.ts';
import { median, printTable, quiet } from './measure.ts';

const root = join(import.meta.dirname, '..');
const data = join(root, 'bench/.data/mcp');
const SIZES = [100, 1000, 10_000];
const PEER_SIZES = [100, 1000];
const CALLS = 20;
const RUNS = 300;
const BENCH = { name: 'bench', version: '1.0.0' };
const KEY = 'a-key-for-the-bench-only';

export async function run(): Promise<void> {
  const rows = [];
  for (const size of SIZES) rows.push(await benchSize(size));
  printTable(
    `skillbox mcp over stdio, the official client (median of ${CALLS})`,
    [
      'skills',
      'start to first list, ms',
      'tools/list, ms',
      'its KB',
      'list_skills, ms',
      'activate_skill, ms',
      'peak MB',
    ],
    rows,
  );
  for (const size of PEER_SIZES) {
    const skills = join(data, String(size));
    await benchPeer(skills, startServer(['--dir', skills], join(data, `data-${size}`)));
  }
  await benchOverhead();
}

async function benchSize(size: number): Promise<string[]> {
  const skills = join(data, String(size));
  const [home, store] = [join(data, 'home'), join(data, `data-${size}`)];
  mkdirSync(home, { recursive: true });
  rmSync(store, { recursive: true, force: true });
  process.stderr.write(`generating ${size} skills …\n`);
  generateSkills(skills, size);
  const transport = startServer(['--dir', skills], store);
  const client = new Client(BENCH);
  const begun = performance.now();
  await client.connect(transport);
  const { tools } = await client.listTools();
  const start = performance.now() - begun;
  const listed = await client.callTool({ name: 'list_skills', arguments: { limit: CALLS } });
  const names = (listed.structuredContent as { skills: { name: string }[] }).skills.map(({ name }) => name);
  const list = await timesOf(() => client.listTools());
  const search = await timesOf(() =>
    client.callTool({ name: 'list_skills', arguments: { query: 'review a change', limit: 5 } }),
  );
  const activate = await timesOf(at =>
    client.callTool({ name: 'activate_skill', arguments: { name: names[at] ?? '' } }),
  );
  const peak = peakMb(transport.pid);
  await client.close();
  const kb = Buffer.byteLength(JSON.stringify(tools)) / 1024;
  return [String(size), ...[start, list, kb, search, activate, peak].map(value => value.toFixed(1))];
}

function startServer(args: readonly string[], store: string): StdioClientTransport {
  const home = join(data, 'home');
  return new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'dist/cli/skillbox.cjs'), 'mcp', ...args],
    cwd: home,
    env: { ...quiet(), HOME: home, SKILLBOX_DATA_DIR: store } as Record<string, string>,
  });
}

async function timesOf(call: (at: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < CALLS; at++) {
    const begun = performance.now();
    await call(at);
    times.push(performance.now() - begun);
  }
  return median(times);
}

function peakMb(pid: number | null): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** The same run without and with the protocol around it, taking turns. */
async function benchOverhead(): Promise<void> {
  const home = join(data, 'home');
  const env = { ...quiet(), HOME: home, SKILLBOX_DATA_DIR: join(data, 'data-runs') };
  const skillbox = await openSkillbox({ env, cwd: home });
  const { desk } = skillbox;
  const host = createHost({ desk, version: 'bench', workspace: null, callerOf });
  const current = () => null;
  const server = await serveLoopback({ host, desk, current, port: 0, key: KEY, keys: null, origins: [] });
  const [http, stdio] = [new Client(BENCH), new Client(BENCH)];
  const requestInit = { headers: { Authorization: `Bearer ${KEY}` } };
  await http.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
  await stdio.connect(startServer([], join(data, 'data-stdio')));
  const tools = await toolsOf(desk);
  const { library } = desk;
  const context = { library, session: newSession(), workspace: null, signal: null, onOutput: null, client: 'bench' };
  const plain = (name: string, args: JsonObject) => {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`there is no ${name}`);
    return callTool(tool, args, context);
  };
  const ways: Way[] = [
    { name: 'without the protocol', call: plain },
    { name: 'stdio', call: (name, args) => stdio.callTool({ name, arguments: args }) },
    { name: 'HTTP', call: (name, args) => http.callTool({ name, arguments: args }) },
  ];
  const run = await takeTurns(ways, RUNS, 'run_skill', { skill: 'word-count', input: { text: 'to be or not to be' } });
  const look = await takeTurns(ways, RUNS * 4, 'list_skills', { limit: 1 });
  const added = (times: readonly number[], at: number) =>
    at === 0 ? '' : ((times[at] ?? 0) - (times[0] ?? 0)).toFixed(1);
  printTable(
    `tools/call, client included (median of ${RUNS} runs, and of ${RUNS * 4} calls that run nothing)`,
    ['', 'run_skill, ms', 'added, ms', 'list_skills, ms', 'added, ms'],
    ways.map(({ name }, at) => [
      name,
      (run[at] ?? 0).toFixed(1),
      added(run, at),
      (look[at] ?? 0).toFixed(2),
      added(look, at),
    ]),
  );
  await http.close();
  await stdio.close();
  await server.close();
  await skillbox.close();
}

type Way = { name: string; call: (name: string, args: JsonObject) => Promise<{ isError?: boolean | undefined }> };

/** Medians, one for each way. The first round makes things ready. */
async function takeTurns(ways: readonly Way[], rounds: number, name: string, args: JsonObject): Promise<number[]> {
  const times = ways.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [at, { call }] of ways.entries()) {
      const begun = performance.now();
      const { isError } = await call(name, args);
      if (isError === true) throw new Error(`${name} failed`);
      if (round > 0) times[at]?.push(performance.now() - begun);
    }
  }
  return times.map(median);
}
