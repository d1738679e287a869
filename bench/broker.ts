import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Brief, type Endpoint, startBroker } from '../src/broker/index.ts';
import { median, percentile, printTable } from './measure.ts';

// What the broker costs: the same requests to the same host, straight, through a bare relay and through the broker, taken in
// turns in one run. Straight: this process → loopback → host. Through: this process → unix socket → relay or broker (another
// process) → loopback → host. The relay does nothing but relay: what it costs, a third process costs.
const REQUESTS = 1000;
const WARM_UP = 200;
const STREAMS = 100;
const TURNS = 9;
const MIB = 1024 ** 2;
const HOST = 'host.bench';

type Way = { isSecure: boolean; options: RequestOptions; prefix: string };
type Ways = { name: string; direct: Way; relay: Way; through: Way };

export async function run(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-bench-'));
  const host = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'broker-upstream.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  const { ports, root } = JSON.parse(line.toString()) as { ports: [number, number]; root: string };
  const token = randomBytes(24).toString('base64url');
  const pins = ports.map(port => ({ host: HOST, port, address: '127.0.0.1', toPort: port }));
  const around = { pins, roots: [root], certificates: null };
  const broker = await startBroker(join(scratch, 'broker'), briefFor(ports, token), 3128, around, () => undefined);
  const relaySocket = join(scratch, 'relay');
  const relay = spawn(
    process.execPath,
    ['--no-warnings', join(import.meta.dirname, 'broker-relay.ts'), relaySocket, ...ports.map(String), root, HOST],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  await once(relay.stdout, 'data');
  const waysTo = (scheme: 'http' | 'https', port: number): Ways => ({
    name: scheme === 'http' ? 'plain host' : 'host with TLS',
    direct: {
      isSecure: scheme === 'https',
      prefix: '',
      options: {
        host: '127.0.0.1',
        port,
        agent:
          scheme === 'http'
            ? new Agent({ keepAlive: true })
            : new SecureAgent({ keepAlive: true, ca: root, servername: HOST }),
      },
    },
    relay: {
      isSecure: false,
      prefix: `/${scheme}`,
      options: { socketPath: relaySocket, agent: new Agent({ keepAlive: true }) },
    },
    through: {
      isSecure: false,
      prefix: `/api/${scheme}`,
      options: {
        socketPath: broker.socket,
        headers: { authorization: `Bearer ${token}` },
        agent: new Agent({ keepAlive: true }),
      },
    },
  });
  const hosts = [waysTo('http', ports[0]), waysTo('https', ports[1])];
  try {
    for (const each of hosts) {
      await latency(each);
      await throughput(each);
    }
    await memory(hosts[1]?.through, broker.pid);
  } finally {
    await broker.close();
    relay.stdin.end();
    host.stdin.end();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function briefFor([plain, secure]: readonly [number, number], token: string): Brief {
  const endpoint = (scheme: 'http' | 'https', port: number): Endpoint => ({
    capability: `${scheme}/all`,
    provider: scheme,
    scheme,
    host: HOST,
    port,
    methods: ['GET'],
    path: '/**',
    auth: { form: 'bearer', value: 'sk-bench-0123456789abcdef0123456789abcdef' },
    limits: { requests: null, bytes: null, tokens: null },
    allowPrivate: true,
  });
  return {
    run: 'bench',
    skill: { name: 'bench', digest: '' },
    tokenHash: createHash('sha256').update(token).digest('hex'),
    expiresAt: Date.now() + 600_000,
    endpoints: [endpoint('http', plain), endpoint('https', secure)],
    customs: [],
    hosts: [],
    limits: { requestBytes: 16 * MIB, responseBytes: 4096 * MIB, timeMs: 120_000, concurrent: 256 },
  };
}

function ask({ isSecure, options, prefix }: Way, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = (isSecure ? secureRequest : request)({ ...options, path: prefix + path }, resolve);
    asked.on('error', reject);
    asked.end();
  });
}

async function take(way: Way, path: string): Promise<{ bytes: number; firstMs: number; ms: number }> {
  const start = performance.now();
  const answer = await ask(way, path);
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
  let bytes = 0;
  let firstMs = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (bytes === 0) firstMs = performance.now() - start;
    bytes += chunk.length;
  }
  return { bytes, firstMs, ms: performance.now() - start };
}

/** One at a time on a kept connection, in turns. */
async function latency({ name, direct, relay, through }: Ways): Promise<void> {
  const kinds = { 'a small answer': '/small/1', 'the first of a stream of events': '/events/50' };
  const rows: string[][] = [];
  for (const [kind, path] of Object.entries(kinds)) {
    const times: [number[], number[], number[]] = [[], [], []];
    for (let index = -WARM_UP; index < REQUESTS; index++) {
      for (const [which, way] of [direct, relay, through].entries()) {
        const { firstMs } = await take(way, path);
        if (index >= 0) times[which]?.push(firstMs);
      }
    }
    const [a, r, b] = times;
    const show = (from: (all: number[]) => number) =>
      [from(a), from(r) - from(a), from(b) - from(a)].map(ms => ms.toFixed(2));
    rows.push([kind, ...show(median), ...show(all => percentile(all, 0.95))]);
  }
  const by = (p: string) => [`direct ${p}`, `added ${p}, bare relay`, `added ${p}, broker`];
  const head = ['', ...by('p50'), ...by('p95')];
  printTable(`Latency, ${name}, ms until the first bytes (${REQUESTS} in turns, kept connections)`, head, rows);
}

const HEAD = ['', 'direct', 'bare relay', 'broker', 'broker of direct', 'broker of relay'];

async function throughput({ name, direct, relay, through }: Ways): Promise<void> {
  const kinds: Record<string, (way: Way) => Promise<number>> = {
    'small answers/s, 16 at a time': way => perSecond(way, 16),
    'small answers/s, 64 at a time': way => perSecond(way, 64),
    'events/s of one stream': async way => 100_000 / ((await take(way, '/events/100000')).ms / 1000),
    'MiB/s of one body': async way => {
      const { bytes, ms } = await take(way, '/large/2048');
      return bytes / MIB / (ms / 1000);
    },
  };
  const rows: string[][] = [];
  for (const [kind, measure] of Object.entries(kinds)) {
    const all: [number[], number[], number[]] = [[], [], []];
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [which, way] of [direct, relay, through].entries()) all[which]?.push(await measure(way));
    }
    const [a, r, b] = all.map(median) as [number, number, number];
    const share = (of: number) => `${((b / of) * 100).toFixed(0)} %`;
    rows.push([kind, a.toFixed(0), r.toFixed(0), b.toFixed(0), share(a), share(r)]);
  }
  const machine = `${cpus().length} processors for client, broker and host together`;
  printTable(`Throughput, ${name} (median of ${TURNS} turns; ${machine})`, HEAD, rows);
}

async function perSecond(way: Way, concurrency: number): Promise<number> {
  const until = performance.now() + 700;
  let count = 0;
  const one = async () => {
    while (performance.now() < until) {
      await take(way, '/small/1');
      count++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, one));
  return count / 0.7;
}

/** Streams that stay open: what the broker holds for them. */
async function memory(through: Way | undefined, pid: number): Promise<void> {
  if (through === undefined) return;
  const resident = () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  const rows = [['before', '0', resident().toFixed(0)]];
  let received = 0;
  const open = await Promise.all(Array.from({ length: STREAMS }, () => ask(through, '/slow/1')));
  for (const stream of open) {
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
  }
  for (let second = 1; second <= 4; second++) {
    await new Promise(resolve => setTimeout(resolve, 1000));
    rows.push([`after ${second} s`, (received / MIB).toFixed(0), resident().toFixed(0)]);
  }
  printTable(`${STREAMS} streams at once`, ['', 'MiB received', "the broker's resident memory, MiB"], rows);
  for (const stream of open) stream.destroy();
}
