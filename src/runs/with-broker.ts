import { EGRESS_PORT, type RunSpec } from '../sandbox/index.ts';

/** Where a run finds the broker: its socket, and the one certificate that it is to trust. */
const SOCKET_AT = '/run/skillbox/broker.sock';
export const CA_AT = '/run/skillbox/ca.pem';
export const BROKER_PORT = EGRESS_PORT;

/** The same run with the broker as its only way out. `env` wins over what the skill or the caller said. Pure. */
export function withBroker(
  spec: RunSpec,
  broker: { socket: string; ca: string },
  env: Readonly<Record<string, string>>,
): RunSpec {
  const { NO_PROXY: _upper, no_proxy: _lower, ...rest } = spec.env;
  return {
    ...spec,
    env: { ...rest, ...env },
    mounts: [...spec.mounts, { kind: 'text', at: CA_AT, text: broker.ca }],
    network: { kind: 'egress', socket: broker.socket, at: SOCKET_AT },
  };
}
