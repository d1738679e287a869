import { CERTIFICATE_VARIABLES, LOOPBACK } from '../egress/index.ts';
import type { Brief } from './brief.ts';

/** SDKs that take the address of their API from a variable, by provider: SK-09. */
const SDKS: Record<string, { base: string; key: string; path: string }> = {
  anthropic: { base: 'ANTHROPIC_BASE_URL', key: 'ANTHROPIC_API_KEY', path: '/api/anthropic' },
  openai: { base: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY', path: '/api/openai/v1' },
};

/** SK-09, SK-14: what unmodified programs must be told to come by here. Of secrets, the run's own token only. */
export function brokerEnvironment(brief: Brief, token: string, port: number, caPath: string): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const proxy = `http://skillbox:${token}@127.0.0.1:${port}`;
  const env: Record<string, string> = {
    SEKS_BROKER_URL: url,
    SEKS_AGENT_TOKEN: token,
    SEKS_BROKER_TOKEN: token,
    SEKS_SKILL_NAME: brief.skill.name,
    // Node asks for proxies only when it is told to.
    NODE_USE_ENV_PROXY: '1',
  };
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    env[name] = proxy;
    env[name.toLowerCase()] = proxy;
  }
  env.NO_PROXY = env.no_proxy = ownPlaces(brief, port).join(',');
  for (const name of CERTIFICATE_VARIABLES) env[name] = caPath;
  for (const provider of new Set(brief.endpoints.map(endpoint => endpoint.provider))) {
    const sdk = SDKS[provider];
    if (sdk === undefined) continue;
    env[sdk.base] = url + sdk.path;
    env[sdk.key] = token;
  }
  return env;
}

/**
 * Where a run has no need of a proxy: the broker itself, and servers that it started on its own loopback. A loopback that was
 * granted is the operator's, and lies behind the broker.
 */
function ownPlaces({ endpoints, customs, hosts }: Brief, port: number): string[] {
  const granted = [...endpoints.map(({ host }) => host), ...customs.flatMap(custom => custom.hosts), ...hosts];
  const isGranted = (name: string) => granted.some(text => text.includes(name));
  return [`127.0.0.1:${port}`, ...LOOPBACK.filter(name => !isGranted(name))];
}
