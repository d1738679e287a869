// For bench/broker.ts: what a run gets. Programs as skills have them, outside and straight to the host, and in a sandbox through
// all that lies between: loopback → the bridge in the sandbox → unix socket → broker → host. In turns, in one run.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Brief, brokerEnvironment } from '../src/broker/index.ts';
import { BROKER_CA, BROKER_PORT, withBroker } from '../src/runs/broker.ts';
import { createBubblewrap, DEFAULT_UIDS, type RunSpec, run, warmOptions } from '../src/sandbox/index.ts';
import { median, printTable, quiet } from './measure.ts';

const MIB = 1024 ** 2;
const TURNS = 5;
const PROGRAMS = join(import.meta.dirname, 'broker-clients');

type Client = { name: string; command: string; file: string; atOnce: number };
const CLIENTS: Client[] = [
  { name: "Node's fetch, 16 at a time", command: 'node', file: 'fetch.mjs', atOnce: 16 },
  { name: "Node's fetch, 64 at a time", command: 'node', file: 'fetch.mjs', atOnce: 64 },
  { name: "Python's urllib, 8 at a time", command: 'python3', file: 'urllib_client.py', atOnce: 8 },
];

export type Inside = {
  /** Of the broker. */
  socket: string;
  ca: string;
  brief: Brief;
  token: string;
  /** For what is made on the way. */
  scratch: string;
  /** Whom the direct way trusts, as PEM. */
  root: string;
  hosts: readonly { name: string /** As the broker's own address has it. */; provider: string; direct: string }[];
};

export async function benchInside({ socket, ca, brief, token, scratch, root, hosts }: Inside): Promise<void> {
  const stateDir = join(scratch, 'sandbox');
  const trusted = join(scratch, 'root.pem');
  writeFileSync(trusted, root);
  const sandbox = createBubblewrap({
    stateDir,
    uids: { ...DEFAULT_UIDS, locks: join(stateDir, 'uids') },
    search: [join(process.execPath, '..')],
    cgroups: true,
    spares: 0,
    warm: warmOptions(0),
    bwrap: null,
    helper: null,
  });
  const inside = async ({ command, file, atOnce }: Client, provider: string) => {
    const url = `http://127.0.0.1:${BROKER_PORT}/api/${provider}/small/1`;
    const spec = specOf([command, `/client/${file}`, url, `${atOnce}`, token], file);
    const env = brokerEnvironment(brief, token, BROKER_PORT, BROKER_CA);
    const { stdout, stderr } = await run(sandbox, withBroker(spec, { socket, ca }, env), {
      stdin: null,
      onChunk: null,
      keepBytes: MIB,
      signal: null,
    });
    return rateIn(stdout.text.toString() || stderr.text.toString());
  };
  const outside = ({ command, file, atOnce }: Client, url: string) => {
    const env = { ...quiet(), NODE_EXTRA_CA_CERTS: trusted, SSL_CERT_FILE: trusted };
    const program = command === 'node' ? process.execPath : command;
    return printed([program, join(PROGRAMS, file), `${url}/small/1`, `${atOnce}`, token], env).then(rateIn);
  };
  try {
    for (const { name, provider, direct } of hosts) {
      const rows: string[][] = [];
      for (const client of CLIENTS) {
        const all: [number[], number[]] = [[], []];
        for (let turn = 0; turn < TURNS; turn++) {
          all[0].push(await outside(client, direct));
          all[1].push(await inside(client, provider));
        }
        const [a, b] = all.map(median) as [number, number];
        rows.push([client.name, a.toFixed(0), b.toFixed(0), `${((b / a) * 100).toFixed(0)} %`]);
      }
      const title = `From inside a sandbox, ${name}, small answers/s (median of ${TURNS} turns)`;
      printTable(title, ['', 'outside, direct', 'inside, through the broker', 'share'], rows);
    }
  } finally {
    await sandbox.close();
  }
}

function specOf(argv: string[], file: string): RunSpec {
  return {
    argv,
    cwd: '/tmp',
    env: { HOME: '/tmp', LANG: 'C.UTF-8' },
    mounts: [
      { kind: 'tmpfs', at: '/tmp', bytes: 16 * MIB },
      { kind: 'text', at: `/client/${file}`, text: readFileSync(join(PROGRAMS, file), 'utf8') },
    ],
    network: { kind: 'none' },
    runtime: { kind: 'host', also: [] },
    tenant: null,
    requires: new Map(),
    limits: {
      timeMs: 30_000,
      graceMs: 500,
      cpus: 2,
      memoryBytes: 1024 * MIB,
      pids: 64,
      openFiles: 1024,
      fileBytes: MIB,
      diskBytes: MIB,
      outputBytes: MIB,
    },
  };
}

function rateIn(text: string): number {
  const rate = Number(text);
  if (!(rate > 0)) throw new Error(`a client came to nothing: ${text.slice(0, 500)}`);
  return rate;
}

function printed([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (bytes: Buffer) => {
      text += bytes.toString();
    });
    child.on('error', reject);
    child.on('close', () => resolve(text));
  });
}
