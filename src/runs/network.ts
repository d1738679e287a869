import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import {
  DEFAULT_EGRESS_LIMITS,
  type EgressRules,
  hostCertificates,
  PUBLIC_PORTS,
  startEgress,
} from '../egress/index.ts';
import type { NetworkGrant } from '../policy/index.ts';
import { EGRESS_PORT, type RunSpec } from '../sandbox/index.ts';
import type { Redactor } from '../secrets/index.ts';
import { partPath, type RunRecord } from '../store/index.ts';
import { needsBroker, openBroker } from './broker.ts';
import type { Planned, Runner } from './plan.ts';

/** What a run starts with, what takes its secrets out of what it leaves, and what is closed after it. */
export type Way = { spec: RunSpec; redact: Redactor | null; close: () => Promise<void> };

const PROXY = `http://127.0.0.1:${EGRESS_PORT}`;
const SOCKET = '/skillbox/proxy.sock';
const CERTIFICATES = '/skillbox/ca.pem';

/** What of the granted network the run really has. */
export function networkOf({ wish, spec }: Pick<Planned, 'wish' | 'spec'>): NetworkGrant {
  const { network, isolated } = wish.grant;
  // Nothing holds the driver without isolation back, and nothing of ours stands in its way.
  if (!isolated || spec.network.kind !== 'none') return { kind: 'none' };
  return network;
}

/**
 * The way out of a run that was granted one: a proxy process of its own, behind a socket that only this run has. Programs find
 * it by the usual variables; what does not use a proxy reaches nothing.
 */
export async function openNetwork(runner: Runner, record: RunRecord, planned: Planned): Promise<Way> {
  const { dataDirectory, writer } = runner;
  const { spec } = planned;
  const { secrets, isolated } = planned.wish.grant;
  if (!isolated && secrets.length > 0) throw unguarded(secrets);
  const network = networkOf(planned);
  if (needsBroker(network, secrets)) return openBroker(runner, record, planned);
  if (network.kind === 'none' || network.kind === 'broker') return { spec, redact: null, close: async () => undefined };
  const directory = join(dataDirectory, 'egress');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // First what may fail: a proxy that nobody closes would stay.
  const certificates = spec.runtime.kind === 'host' ? await hostCertificates() : null;
  const egress = await startEgress(partPath(directory, writer), rulesOf(network), DEFAULT_EGRESS_LIMITS);
  return { spec: withProxy(spec, egress.socket, certificates), redact: null, close: () => egress.close() };
}

/** SK-06: without a sandbox nothing would keep a token or a secret with the run that they are for. */
function unguarded(secrets: readonly string[]): SkillboxError {
  return new SkillboxError(
    'SANDBOX_CANNOT_ENFORCE',
    `a run without isolation gets no secrets (${secrets.join(', ')})`,
    {
      hint: 'Run it in a sandbox: leave --sandbox away.',
    },
  );
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
