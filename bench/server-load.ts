// Sends one request again and again over a number of connections, and tells how long each took. A process of its own, and plain
// sockets: what is measured is the server, and a client that works hard makes every server look alike.
import { connect } from 'node:net';
import { percentile } from './measure.ts';

export type Load = {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string;
  connections: number;
  seconds: number;
};
export type Loaded = { perSecond: number; p50: number; p99: number; count: number; statuses: Record<string, number> };

const HEAD_END = Buffer.from('\r\n\r\n');

function textOf({ url, method, headers, body }: Load): Buffer {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body)) });
  const head = [`${method} ${pathname}${search} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The length of the first answer in the bytes, and its status; null when it is not whole yet. */
function readAnswer(bytes: Buffer): { length: number; status: string } | null {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return null;
  const head = bytes.toString('latin1', 0, end);
  const found = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (found === undefined) throw new Error(`an answer without a length: ${head}`);
  const length = end + HEAD_END.length + Number(found);
  return bytes.length < length ? null : { length, status: head.slice(9, 12) };
}

async function work(
  request: Buffer,
  load: Load,
  end: number,
  times: number[],
  statuses: Record<string, number>,
): Promise<void> {
  const { hostname, port } = new URL(load.url);
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let kept: Buffer = Buffer.alloc(0);
    let began = 0;
    const send = () => {
      began = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', part => {
      kept = kept.length === 0 ? part : Buffer.concat([kept, part]);
      const answer = readAnswer(kept);
      if (answer === null) return;
      const now = performance.now();
      times.push(now - began);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      kept = kept.subarray(answer.length);
      if (now < end) send();
      else socket.destroy();
    });
  });
}

async function main(): Promise<void> {
  const load = JSON.parse(process.argv[2] ?? '') as Load;
  const request = textOf(load);
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const start = performance.now();
  const end = start + load.seconds * 1000;
  await Promise.all(Array.from({ length: load.connections }, () => work(request, load, end, times, statuses)));
  const seconds = (performance.now() - start) / 1000;
  const loaded: Loaded = {
    perSecond: times.length / seconds,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    count: times.length,
    statuses,
  };
  process.stdout.write(JSON.stringify(loaded));
}

await main();
