import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CERTIFICATE_VARIABLES,
  certificatesWarning,
  DEFAULT_EGRESS_LIMITS,
  EGRESS_PROGRAM,
  type EgressRules,
  hostCertificates,
  LOOPBACK,
  PUBLIC_PORTS,
  startEgress,
} from '../egress/index.ts';
import type { NetworkGrant } from '../policy/index.ts';
import { EGRESS_PORT, type RunSpec } from '../sandbox/index.ts';
import { partPath, type RunRecord } from '../store/index.ts';
import type { Way } from './network.ts';
import type { Runner } from './plan.ts';
import { PROXY_SOCKET } from './way-out.ts';

const PROXY = `http://127.0.0.1:${EGRESS_PORT}`;
const CERTIFICATES = '/skillbox/ca.pem';

type Open = Extract<NetworkGrant, { kind: 'hosts' | 'public' }>;

/**
 * A proxy process of the run's own, behind a socket that only this run has. Programs find it by the usual variables; what does
 * not use a proxy reaches nothing.
 */
export async function openProxy(
  { dataDirectory, writer, standby }: Runner,
  record: RunRecord,
  spec: RunSpec,
  network: Open,
): Promise<Way> {
  const directory = join(dataDirectory, 'egress');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // First what may fail: a proxy that nobody closes would stay.
  const isHost = spec.runtime.kind === 'host';
  const certificates = isHost ? await hostCertificates() : null;
  const untrusted = isHost ? certificatesWarning() : null;
  if (untrusted !== null) record.warnings.push(untrusted);
  const waiting = standby.take(EGRESS_PROGRAM);
  const egress = await startEgress(partPath(directory, writer), rulesOf(network), DEFAULT_EGRESS_LIMITS, waiting);
  return { spec: withProxy(spec, egress.socket, certificates), redact: null, close: () => egress.close() };
}

function rulesOf(network: Open): EgressRules {
  if (network.kind === 'public') return 'public';
  return network.hosts.flatMap(host => PUBLIC_PORTS.map(port => ({ host, port, private: false })));
}

function withProxy(spec: RunSpec, socket: string, certificates: string | null): RunSpec {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  const env: Record<string, string> = { ...spec.env, ...Object.fromEntries(names.map(name => [name, PROXY])) };
  // A server that the skill starts itself is reached without: the proxy leads to nobody's loopback.
  env.NO_PROXY = env.no_proxy = LOOPBACK.join(',');
  // Node asks for it in so many words; the others find the variables by themselves.
  env.NODE_USE_ENV_PROXY = '1';
  const network = { kind: 'egress' as const, socket, at: PROXY_SOCKET };
  if (certificates === null) return { ...spec, env, network };
  for (const name of CERTIFICATE_VARIABLES) env[name] = CERTIFICATES;
  const bind = {
    kind: 'bind' as const,
    source: certificates,
    at: CERTIFICATES,
    writable: false,
    exec: false,
    protect: null,
  };
  return { ...spec, env, network, mounts: [...spec.mounts, bind] };
}
