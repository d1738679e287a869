import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DEFAULT_EGRESS_LIMITS,
  type EgressRules,
  hostCertificates,
  PUBLIC_PORTS,
  startEgress,
} from '../egress/index.ts';
import type { NetworkGrant } from '../policy/index.ts';
import { EGRESS_PORT, type RunSpec } from '../sandbox/index.ts';
import { partPath } from '../store/index.ts';
import type { Planned, Runner } from './plan.ts';

/** What a run starts with, and what is closed after it. */
export type Way = { spec: RunSpec; close: () => Promise<void> };

const PROXY = `http://127.0.0.1:${EGRESS_PORT}`;
const SOCKET = '/skillbox/proxy.sock';
const CERTIFICATES = '/skillbox/ca.pem';

/** What of the granted network the run really has: the broker is not there yet. */
export function networkOf({ wish, spec }: Pick<Planned, 'wish' | 'spec'>): NetworkGrant {
  const { network, isolated } = wish.grant;
  // Nothing holds the driver without isolation back, and nothing of ours stands in its way.
  if (!isolated || network.kind === 'broker' || spec.network.kind !== 'none') return { kind: 'none' };
  return network;
}

/**
 * The way out of a run that was granted one: a proxy process of its own, behind a socket that only this run has. Programs find
 * it by the usual variables; what does not use a proxy reaches nothing.
 */
export async function openNetwork({ dataDirectory, writer }: Runner, planned: Planned): Promise<Way> {
  const { spec } = planned;
  const network = networkOf(planned);
  if (network.kind === 'none' || network.kind === 'broker') return { spec, close: async () => undefined };
  const directory = join(dataDirectory, 'egress');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // First what may fail: a proxy that nobody closes would stay.
  const certificates = spec.runtime.kind === 'host' ? await hostCertificates() : null;
  const egress = await startEgress(partPath(directory, writer), rulesOf(network), DEFAULT_EGRESS_LIMITS);
  return { spec: withProxy(spec, egress.socket, certificates), close: () => egress.close() };
}

function rulesOf(network: Extract<NetworkGrant, { kind: 'hosts' | 'public' }>): EgressRules {
  if (network.kind === 'public') return 'public';
  return network.hosts.flatMap(host => PUBLIC_PORTS.map(port => ({ host, port, private: false })));
}

function withProxy(spec: RunSpec, socket: string, certificates: string | null): RunSpec {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  const env: Record<string, string> = { ...spec.env, ...Object.fromEntries(names.map(name => [name, PROXY])) };
  // Node asks for it in so many words; the others find the variables by themselves.
  env.NODE_USE_ENV_PROXY = '1';
  const network = { kind: 'egress' as const, socket, at: SOCKET };
  if (certificates === null) return { ...spec, env, network };
  for (const name of ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO'])
    env[name] = CERTIFICATES;
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
