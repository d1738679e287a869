// npm run bench -- server: the server against a bare one of the same framework, and against the same runs without HTTP.
// BENCH_SECONDS (4) is how long each load lasts, BENCH_QUEUED (5000) how many runs are put in line, BENCH_FOLLOWERS (500) how many follow.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, percentile, printTable } from './measure.ts';
import { drainQueue, followRun } from './server-long.ts';
import { type BareRuns, openBareRuns } from './server-runs.ts';
import { loadWith, memoryOf, type Started, startBare, startSkillbox } from './server-started.ts';

const root = join(import.meta.dirname, '..');
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);
const QUEUED = Number(process.env.BENCH_QUEUED ?? 5000);
const FOLLOWERS = Number(process.env.BENCH_FOLLOWERS ?? 500);
const AT_ONCE = [1, 4, 16, 64];
const SLOTS = 2 * availableParallelism();
const WARM = 4;

export async function run(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-bench-server-'));
  mkdirSync(join(scratch, 'data'), { mode: 0o700 });
  const server = await startSkillbox(join(scratch, 'data'), SLOTS, WARM);
  const bareRuns = await openBareRuns(join(scratch, 'bare'), SLOTS, WARM);
  const memory: [string, number][] = [];
  const remember = (what: string) => memory.push([what, memoryOf(server.pid)]);
  try {
    for (const language of ['bash', 'python', 'node'])
      await publish(server, packed(scratch, join(root, 'bench/skills', language)));
    remember('after the start');
    await benchGet(server);
    remember('after GET');
    for (const language of ['bash', 'python'] as const) {
      await benchRuns(server, bareRuns, language);
      remember(`after runs in ${language}`);
    }
    await benchContent(server, scratch);
    remember('after 20 MB up and down');
    const drained = await drainQueue(server, bareRuns, { runs: QUEUED, skill: 'bash', slots: SLOTS });
    printTable(`${QUEUED} runs put in line, then drained (${SLOTS} at once)`, drained.head, drained.rows);
    remember('after the line');
    await publish(server, packed(scratch, join(root, 'examples/skillbox/slow-steps')));
    const followed = await followRun(server, FOLLOWERS);
    printTable(`${FOLLOWERS} followers of one log`, followed.head, followed.rows);
    remember('after the followers');
    printTable(
      'Memory of the server',
      ['', 'resident MiB'],
      memory.map(([what, size]) => [what, size.toFixed(0)]),
    );
  } finally {
    await bareRuns.close();
    await server.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function benchGet(server: Started): Promise<void> {
  const url = `${server.url}/v1/skills/python/1.0.0`;
  const headers = { authorization: `Bearer ${server.key}` };
  const answer = await (await fetch(url, { headers })).text();
  const bare = await startBare(answer, '/dev/null');
  const rows: string[][] = [];
  try {
    for (const connections of AT_ONCE) {
      const common = { method: 'GET', body: '', connections, seconds: SECONDS };
      const one = await loadWith({ ...common, url: `${bare.url}/answer`, headers: {} }, '200');
      const ours = await loadWith({ ...common, url, headers }, '200');
      rows.push([
        String(connections),
        one.perSecond.toFixed(0),
        ours.perSecond.toFixed(0),
        `${((ours.perSecond / one.perSecond) * 100).toFixed(0)} %`,
        ...[one.p50, one.p99, ours.p50, ours.p99].map(ms => ms.toFixed(2)),
      ]);
    }
  } finally {
    await bare.stop();
  }
  const head = ['at once', 'bare /s', 'skillbox /s', 'of bare', 'bare p50 ms', 'p99', 'skillbox p50 ms', 'p99'];
  printTable('GET of a skill: key, tenant, database, answer by schema', head, rows);
}

async function benchRuns(server: Started, bareRuns: BareRuns, language: 'bash' | 'python'): Promise<void> {
  const skill = language;
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ skill, version: '1.0.0', input: { x: 1 } });
  const url = `${server.url}/v1/executions`;
  // So that both have their sandboxes and their skill ready.
  await bareRuns.load(language, 2, 1);
  await loadWith({ url, method: 'POST', headers, body, connections: 2, seconds: 1 }, '200');
  const rows: string[][] = [];
  for (const connections of AT_ONCE) {
    const bare = await bareRuns.load(language, connections, SECONDS);
    const ours = await loadWith({ url, method: 'POST', headers, body, connections, seconds: SECONDS }, '200');
    const p50 = median(bare.times);
    rows.push([
      String(connections),
      bare.perSecond.toFixed(1),
      ours.perSecond.toFixed(1),
      `${((ours.perSecond / bare.perSecond) * 100).toFixed(0)} %`,
      ...[p50, percentile(bare.times, 0.99), ours.p50, ours.p99].map(ms => ms.toFixed(1)),
      (ours.p50 - p50).toFixed(1),
    ]);
  }
  const head = [
    'at once',
    'in process /s',
    'API /s',
    'of it',
    'in process p50 ms',
    'p99',
    'API p50 ms',
    'p99',
    'over p50 ms',
  ];
  printTable(`POST of a run in ${language}, answered when it has ended (${SLOTS} at once, ${WARM} warm)`, head, rows);
}

/** A skill with 20 MB that no packing makes smaller. */
async function benchContent(server: Started, scratch: string): Promise<void> {
  const folder = join(scratch, 'large');
  cpSync(join(root, 'bench/skills/bash'), folder, { recursive: true });
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets/noise.bin'), randomBytes(20 * 1000 ** 2));
  const times: Record<string, number[]> = { up: [], down: [], 'bare up': [], 'bare down': [] };
  const zips = [1, 2, 3].map(minor => {
    const text = '---\nname: large\nversion: 1.N.0\ndescription: A skill with much in it.\nlang: bash\n---\n\nBody.\n';
    writeFileSync(join(folder, 'SKILL.md'), text.replace('N', String(minor)));
    return packed(scratch, folder);
  });
  const bare = await startBare('{}', zips[0] ?? '');
  try {
    for (const [index, zip] of zips.entries()) {
      const file = await readAll(zip);
      times['bare up']?.push(await timed(() => send(`${bare.url}/sink`, '', file)));
      times.up?.push(await timed(() => send(`${server.url}/v1/skills`, server.key, file)));
      times['bare down']?.push(await timed(() => fetchAll(`${bare.url}/file`, '')));
      const url = `${server.url}/v1/skills/large/1.${index + 1}.0/download`;
      times.down?.push(await timed(() => fetchAll(url, server.key)));
    }
  } finally {
    await bare.stop();
  }
  const rows = Object.entries(times).map(([what, all]) => {
    const ms = median(all);
    return [what, ms.toFixed(0), (20_000 / ms).toFixed(0)];
  });
  printTable('A skill of 20 MB (3 rounds); up: checked, linted, digested, stored', ['', 'p50 ms', 'MB/s'], rows);
}

async function timed(body: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await body();
  return performance.now() - start;
}

async function send(url: string, key: string, body: Uint8Array): Promise<void> {
  const headers = { 'content-type': 'application/zip', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) };
  const answer = await fetch(url, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function fetchAll(url: string, key: string): Promise<void> {
  const answer = await fetch(url, { headers: key === '' ? {} : { authorization: `Bearer ${key}` } });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  const bytes = (await answer.arrayBuffer()).byteLength;
  if (bytes < 20 * 1000 ** 2) throw new Error(`${url}: ${bytes} bytes`);
}

async function readAll(path: string): Promise<Uint8Array> {
  const { readFile } = await import('node:fs/promises');
  return readFile(path);
}

/** As `skillbox skill package` does it. */
function packed(scratch: string, folder: string): string {
  const zip = join(scratch, `${randomBytes(4).toString('hex')}.zip`);
  const words = ['skill', 'package', folder, '-o', zip];
  execFileSync(process.execPath, [join(root, 'dist/cli/skillbox.cjs'), ...words], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return zip;
}

async function publish(server: Started, zip: string): Promise<void> {
  await send(`${server.url}/v1/skills`, server.key, await readAll(zip));
}
