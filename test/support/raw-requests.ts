import type { Brief } from '../../src/broker/index.ts';
import { brokerEnvironment } from '../../src/broker/index.ts';
import { BROKER_CA, BROKER_PORT, withBroker } from '../../src/runs/broker.ts';
import { run, type Sandbox } from '../../src/sandbox/index.ts';
import { attack } from './attack.ts';
import type { Opened } from './broker.ts';
import { MOUNTS, QUIET, text } from './sandbox-spec.ts';

/** Bytes for the broker, said from inside a sandbox. */
export type Raw = {
  name: string;
  raw: string;
  tunnel?: string;
  sni?: string;
  repeat?: number;
  seconds?: number;
  port?: number;
};

const encode = (bytes: string) => Buffer.from(bytes, 'latin1').toString('base64');

/** A request with its head as given, and the token. */
export function requestOf(line: string, token: string | null, headers: readonly string[] = [], body = ''): string {
  const auth = token === null ? [] : [`Proxy-Authorization: Bearer ${token}`];
  return [line, 'Host: 127.0.0.1:3128', 'Connection: close', ...auth, ...headers, '', body].join('\r\n');
}

/** What came back, by name. */
export async function sayRaw(
  sandbox: Sandbox,
  broker: Pick<Opened, 'socket' | 'ca'>,
  brief: Brief,
  token: string,
  requests: readonly Raw[],
): Promise<Map<string, string>> {
  const encoded = requests.map(one => ({
    ...one,
    raw: encode(one.raw),
    ...(one.tunnel === undefined ? {} : { tunnel: encode(one.tunnel) }),
  }));
  const input = { kind: 'text' as const, at: '/attack-in/requests.json', text: JSON.stringify(encoded) };
  const spec = withBroker(
    attack('broker-raw.py', [], { mounts: [...MOUNTS, input], limits: { timeMs: 60_000 } }),
    broker,
    brokerEnvironment(brief, token, BROKER_PORT, BROKER_CA),
  );
  const outcome = await run(sandbox, spec, QUIET);
  const lines = text(outcome)
    .trim()
    .split('\n')
    .filter(line => line !== '');
  const answers = new Map(
    lines.map(line => {
      const { name, answer } = JSON.parse(line) as { name: string; answer: string };
      return [name, answer];
    }),
  );
  const silent = requests.filter(({ name }) => !answers.has(name)).map(({ name }) => name);
  if (silent.length > 0) throw new Error(`no word about ${silent.join(', ')}: ${outcome.stderr.text.toString('utf8')}`);
  return answers;
}

/** `403`, or what the connection did. */
export function statusOf(answer: string | undefined): string {
  return /^HTTP\/1\.1 (\d+)/.exec(answer ?? '')?.[1] ?? (answer === '' ? 'closed' : (answer ?? 'nothing'));
}
