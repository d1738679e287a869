import { lookup } from 'node:dns/promises';
import { isIP, type Socket, connect as tcpConnect } from 'node:net';
import { type EgressRule, type Refusal, vetAddresses } from './decide.ts';

/** Everything that DNS knows for a name. */
export type Resolve = (host: string) => Promise<string[]>;

export const resolveHost: Resolve = async host =>
  isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];

/** Each costs memory here and asks a name server, which also carries the name itself out. */
const MAX_HOSTS = 1000;

export type Dial = (rule: EgressRule) => Promise<Socket | Refusal>;

/**
 * Each host is resolved once in the life of the proxy, and only an address that was vetted is dialled: a name that points
 * elsewhere a moment later (DNS rebinding) changes nothing.
 */
export function createDial(resolve: Resolve, connectMs: number): Dial {
  const vetted = new Map<string, Promise<string[] | Refusal>>();
  const addressesOf = (rule: EgressRule) => {
    const key = `${rule.host}:${rule.port}`;
    let found = vetted.get(key);
    if (found === undefined) {
      if (vetted.size >= MAX_HOSTS) return { refused: `more than ${MAX_HOSTS} hosts were asked for` };
      found = resolve(rule.host).then(
        addresses => vetAddresses(rule, addresses),
        (error: unknown) => {
          vetted.delete(key); // a name server that did not answer may answer the next time
          return { refused: `${rule.host} cannot be resolved: ${messageOf(error)}` };
        },
      );
      vetted.set(key, found);
    }
    return found;
  };
  return async rule => {
    const addresses = await addressesOf(rule);
    if ('refused' in addresses) return addresses;
    let last = 'no address';
    for (const address of addresses) {
      const outcome = await connectTo(address, rule.port, connectMs);
      if (typeof outcome !== 'string') return outcome;
      last = outcome;
    }
    return { refused: `${rule.host}:${rule.port} cannot be reached: ${last}` };
  };
}

function connectTo(address: string, port: number, connectMs: number): Promise<Socket | string> {
  return new Promise(resolve => {
    // Half-open, because a tunnel closes its two directions apart.
    const socket = tcpConnect({ host: address, port, allowHalfOpen: true });
    const give = (outcome: Socket | string) => {
      clearTimeout(timer);
      socket.removeAllListeners('error').removeAllListeners('connect');
      if (typeof outcome === 'string') socket.on('error', () => undefined).destroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => give('no answer in time'), connectMs);
    socket.once('connect', () => give(socket));
    socket.once('error', error => give(messageOf(error)));
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
