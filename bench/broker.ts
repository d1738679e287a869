import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Brief, type Endpoint, startBroker } from '../src/broker/index.ts';
import { BROKER_PORT } from '../src/runs/broker.ts';
import { benchInside } from './broker-inside.ts';
import { PEER, startPeer } from './broker-peer.ts';
import { median, percentile, printTable } from './measure.ts';

// What the broker costs: the same requests to the same host, straight, through a bare relay and through the broker, taken in
// turns in one run. Straight: this process → loopback → host. Through: this process → unix socket → relay or broker (another
// process) → loopback → host. The relay does nothing but relay: what it costs, a third process costs; there is one in Node, and
// haproxy where it is installed. All share this machine's processors, where a real host is elsewhere and some milliseconds away: so there are late answers, a host that is no more than
// a bare socket, and what each process takes.
const REQUESTS = 1000;
const WARM_UP = 200;
const STREAMS = 100;
const TURNS = 9;
const TURN_MS = 700;
const MIB = 1024 ** 2;
const HOST = 'host.bench';

/** As bench/broker-upstream.ts names its hosts. */
const HOSTS = {
  http: 'plain host, a Node server on the same processors',
  https: 'host with TLS, a Node server on the same processors',
  'bare-http': 'plain host, a bare socket on the same processors',
  'bare-https': 'host with TLS, a bare socket on the same processors',
} as const;
type Name = keyof typeof HOSTS;
type Ports = Record<Name, number>;
type Scheme = 'http' | 'https';
const NAMES = Object.keys(HOSTS) as Name[];
const schemeOf = (name: Name): Scheme => (name.endsWith('https') ? 'https' : 'http');

type Way = { isSecure: boolean; options: RequestOptions; prefix: string };
type Ways = { name: string; direct: Way; relay: Way; peer: Way | null; through: Way };

export async function run(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-bench-'));
  const host = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, 'broker-upstream.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(host.stdout, 'data')) as [Buffer];
  const { ports, root } = JSON.parse(line.toString()) as { ports: Ports; root: string };
  const token = randomBytes(24).toString('base64url');
  const pins = Object.values(ports).map(port => ({ host: HOST, port, address: '127.0.0.1', toPort: port }));
  const around = { pins, roots: [root], certificates: null };
  const brief = briefFor(ports, token);
  const broker = await startBroker(join(scratch, 'broker'), brief, BROKER_PORT, around, () => undefined);
  const relaySocket = join(scratch, 'relay');
  const relay = spawn(
    process.execPath,
    ['--no-warnings', join(import.meta.dirname, 'broker-relay.ts'), relaySocket, JSON.stringify(ports), root, HOST],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  await once(relay.stdout, 'data');
  const peer = await startPeer(scratch, ports, root, HOST);
  const waysTo = (name: Name): Ways => ({
    name: HOSTS[name],
    direct: {
      isSecure: schemeOf(name) === 'https',
      prefix: '',
      options: {
        host: '127.0.0.1',
        port: ports[name],
        agent:
          schemeOf(name) === 'http'
            ? new Agent({ keepAlive: true })
            : new SecureAgent({ keepAlive: true, ca: root, servername: HOST }),
      },
    },
    relay: {
      isSecure: false,
      prefix: `/${name}`,
      options: { socketPath: relaySocket, agent: new Agent({ keepAlive: true }) },
    },
    peer:
      peer === null
        ? null
        : {
            isSecure: false,
            prefix: `/${name}`,
            options: { socketPath: peer.socket, agent: new Agent({ keepAlive: true }) },
          },
    through: {
      isSecure: false,
      prefix: `/api/${name}`,
      options: {
        socketPath: broker.socket,
        headers: { authorization: `Bearer ${token}` },
        agent: new Agent({ keepAlive: true }),
      },
    },
  });
  const hosts = (['http', 'https'] as const).map(scheme => ({
    name: HOSTS[scheme],
    provider: scheme,
    // By its name: who asks for an address does not say which certificate is wanted.
    direct: `${scheme}://localhost:${ports[scheme]}`,
  }));
  try {
    for (const scheme of ['http', 'https'] as const) {
      const whole = waysTo(scheme);
      await latency(whole);
      await throughput(whole, { ...SMALL, ...LATE, ...LARGE });
      await throughput(waysTo(`bare-${scheme}`), SMALL);
    }
    await benchInside({ ...broker, brief, token, scratch, root, hosts });
    const pids = { relay: relay.pid, peer: peer?.process.pid, through: broker.pid, host: host.pid };
    await processorTime(NAMES.map(waysTo), pids);
    await memory(waysTo('https').through, broker.pid);
  } finally {
    await broker.close();
    peer?.process.kill();
    relay.stdin.end();
    host.stdin.end();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function briefFor(ports: Ports, token: string): Brief {
  const endpoint = (name: Name): Endpoint => ({
    capability: `${name}/all`,
    provider: name,
    scheme: schemeOf(name),
    host: HOST,
    port: ports[name],
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
    expiresAt: Date.now() + 1_200_000,
    endpoints: NAMES.map(endpoint),
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

const HEAD = [
  '',
  'direct',
  'bare relay',
  PEER,
  'broker',
  'broker of direct',
  'broker of relay',
  `broker of ${PEER}`,
  `${PEER} of direct`,
];
type Kinds = Record<string, (way: Way) => Promise<number>>;
const SMALL: Kinds = {
  'small answers/s, 16 at a time': way => perSecond(way, 16),
  'small answers/s, 64 at a time': way => perSecond(way, 64),
};
const LATE: Kinds = {
  'small answers/s, each 5 ms in coming, 16 at a time': way => perSecond(way, 16, '/late/5'),
  'small answers/s, each 5 ms in coming, 64 at a time': way => perSecond(way, 64, '/late/5'),
};
const LARGE: Kinds = {
  'events/s of one stream': async way => 100_000 / ((await take(way, '/events/100000')).ms / 1000),
  'MiB/s of one body': async way => {
    const { bytes, ms } = await take(way, '/large/2048');
    return bytes / MIB / (ms / 1000);
  },
};

async function throughput({ name, direct, relay, peer, through }: Ways, kinds: Kinds): Promise<void> {
  const rows: string[][] = [];
  for (const [kind, measure] of Object.entries(kinds)) {
    const ways = [direct, relay, peer, through];
    const all: number[][] = ways.map(() => []);
    for (let turn = 0; turn < TURNS; turn++)
      for (const [which, way] of ways.entries()) if (way !== null) all[which]?.push(await measure(way));
    const [a = 0, r = 0, p = 0, b = 0] = all.map(median);
    const share = (part: number, of: number) => (Number.isNaN(part / of) ? '' : `${((part / of) * 100).toFixed(0)} %`);
    const shown = [a, r, p, b].map(each => (Number.isNaN(each) ? '' : each.toFixed(0)));
    rows.push([kind, ...shown, share(b, a), share(b, r), share(b, p), share(p, a)]);
  }
  const machine = `${cpus().length} processors for client, broker and host together`;
  printTable(`Throughput, ${name} (median of ${TURNS} turns; ${machine})`, HEAD, rows);
}

async function perSecond(way: Way, concurrency: number, path = '/small/1'): Promise<number> {
  const until = performance.now() + TURN_MS;
  let count = 0;
  const one = async () => {
    while (performance.now() < until) {
      await take(way, path);
      count++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, one));
  return count / (TURN_MS / 1000);
}

const WAYS = { direct: 'direct', relay: 'bare relay', peer: PEER, through: 'broker' } as const;

/** Whose time a small answer takes: what is more than the processors have cannot go through. */
async function processorTime(
  hosts: Ways[],
  pids: Record<'relay' | 'peer' | 'through' | 'host', number | undefined>,
): Promise<void> {
  const rows: string[][] = [];
  for (const host of hosts) {
    for (const which of ['direct', 'relay', 'peer', 'through'] as const) {
      const way = host[which];
      if (way === null) continue;
      const all = [process.pid, which === 'direct' ? undefined : pids[which], pids.host];
      const before = all.map(spentMicroseconds);
      let count = 0;
      for (let turn = 0; turn < 3; turn++) count += (await perSecond(way, 16)) * (TURN_MS / 1000);
      const each = all.map((pid, at) => (spentMicroseconds(pid) - (before[at] ?? 0)) / count);
      const sum = each.reduce((one, other) => one + other);
      rows.push([host.name, WAYS[which], ...[...each, sum].map(us => us.toFixed(0))]);
    }
  }
  const head = ['', 'way', 'client', 'between', 'host', 'together'];
  printTable('Processor time of one small answer, µs (16 at a time)', head, rows);
}

/** In all its threads, in steps of ten milliseconds. */
function spentMicroseconds(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? [];
  return (Number(user) + Number(system)) * 10_000;
}

/** Streams that stay open: what the broker holds for them. */
async function memory(through: Way, pid: number): Promise<void> {
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
