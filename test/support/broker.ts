import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { type BrokerOptions, createBroker } from '../../src/broker/broker.ts';
import type { Brief, BrokerEvent, CustomSecret, Endpoint, Pin } from '../../src/broker/index.ts';
import { brokerEnvironment } from '../../src/broker/index.ts';
import { BROKER_CA, BROKER_PORT, withBroker } from '../../src/runs/broker.ts';
import type { Outcome, RunSpec, Sandbox } from '../../src/sandbox/index.ts';
import { run } from '../../src/sandbox/index.ts';
import { QUIET, specOf } from './sandbox-spec.ts';
import { tempDir } from './temp.ts';
import { UPSTREAM_ROOT } from './upstream.ts';

/** Looks like nothing else that a run could hold, in any spelling. */
export const KEY = 'sk-real/Key+0123456789=abcdefXYZ';
export const OTHER_KEY = 'sk-other/Key+9876543210=zyxwvuABC';

export const newToken = () => `skt_${randomBytes(24).toString('base64url')}`;
export const hashOf = (token: string) => createHash('sha256').update(token).digest('hex');

export function briefOf(token: string, changes: Partial<Brief> = {}): Brief {
  return {
    run: 'run-1',
    skill: { name: 'test-skill', digest: `sha256:${'0'.repeat(64)}` },
    tokenHash: hashOf(token),
    expiresAt: Date.now() + 60_000,
    endpoints: [],
    customs: [],
    hosts: [],
    limits: { requestBytes: 4 * 1024 ** 2, responseBytes: 16 * 1024 ** 2, timeMs: 20_000, concurrent: 128 },
    ...changes,
  };
}

export function endpointOf(changes: Partial<Endpoint> = {}): Endpoint {
  return {
    capability: 'anthropic/messages.create',
    provider: 'anthropic',
    scheme: 'https',
    host: 'api.anthropic.com',
    port: 443,
    methods: ['POST'],
    path: '/v1/messages',
    auth: { form: 'header', name: 'x-api-key', value: KEY },
    limits: { requests: null, bytes: null, tokens: null },
    allowPrivate: false,
    ...changes,
  };
}

export function customOf(changes: Partial<CustomSecret> = {}): CustomSecret {
  return { key: 'weather', value: KEY, hosts: ['api.weather.test'], placeholder: 'skp_0123456789abcdef', ...changes };
}

/** Hosts that are found on loopback, at the upstream's port. */
export function pinsTo(port: number, hosts: readonly string[], at = 443): Pin[] {
  return hosts.map(host => ({ host, port: at, address: '127.0.0.1', toPort: port }));
}

export type Opened = { socket: string; ca: string; events: BrokerEvent[]; end(): void; close(): Promise<void> };

/** A broker in this process, behind a socket as a run would find it. */
export async function openBroker(brief: Brief, changes: Partial<BrokerOptions> = {}): Promise<Opened> {
  const events: BrokerEvent[] = [];
  const broker = createBroker({
    brief,
    port: BROKER_PORT,
    roots: [UPSTREAM_ROOT],
    pins: [],
    resolve: host => Promise.reject(new Error(`no such host: ${host}`)),
    say: event => void events.push(event),
    ...changes,
  });
  const { server, ca } = broker;
  const socket = join(tempDir('broker', 0o711), 'b.sock');
  server.listen(socket);
  await once(server, 'listening');
  chmodSync(socket, 0o666);
  return {
    socket,
    ca,
    events,
    end: () => broker.end(),
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** A run that has this broker, as runs/ makes it. */
export function brokered(
  argv: string[],
  broker: Pick<Opened, 'socket' | 'ca'>,
  brief: Brief,
  token: string,
  changes: Parameters<typeof specOf>[1] = {},
): RunSpec {
  return withBroker(specOf(argv, changes), broker, brokerEnvironment(brief, token, BROKER_PORT, BROKER_CA));
}

export function inside(sandbox: Sandbox, spec: RunSpec): Promise<Outcome> {
  return run(sandbox, spec, QUIET);
}
