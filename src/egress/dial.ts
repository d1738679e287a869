import { isIP, type Socket, type TcpNetConnectOpts, connect as tcpConnect } from 'node:net';
import { type EgressRule, type Refusal, vetAddresses } from './decide.ts';

/** Everything that DNS knows for a name. */
export type Resolve = (host: string) => Promise<string[]>;

export const resolveHost: Resolve = async host => {
  // Loaded here: most who load this module resolve nothing.
  const { lookup } = process.getBuiltinModule('node:dns/promises');
  return (await lookup(host, { all: true })).map(({ address }) => address);
};

/** Begins a connection to an address. */
export type Open = (place: TcpNetConnectOpts) => Socket;
export type Dial = (rule: EgressRule, open?: Open) => Promise<Socket | Refusal>;

export type DialOptions = {
  /** For tunnels, which close their two directions apart. */
  halfOpen?: boolean;
};

/** Names beyond this are forgotten, oldest first, and asked for again: a run that may go anywhere must not fill memory. */
const MAX_NAMES = 4096;
const LATE = 'no answer in time';

/**
 * Each host is resolved once in the life of the proxy, and only an address that was vetted is dialled: a name that points
 * elsewhere a moment later (DNS rebinding) changes nothing. `connectMs` is for all of it: threat: a name with a hundred dead
 * addresses would hold its place a hundred times as long.
 */
export function createDial(resolve: Resolve, connectMs: number, { halfOpen = true }: DialOptions = {}): Dial {
  const resolved = new Map<string, Promise<string[] | Refusal>>();
  const addressesOf = async (rule: EgressRule) => {
    if (isIP(rule.host) !== 0) return vetAddresses(rule, [rule.host]);
    let found = resolved.get(rule.host);
    if (found === undefined) {
      found = resolve(rule.host).catch((error: unknown) => {
        resolved.delete(rule.host); // a name server that did not answer may answer the next time
        return { refused: `${rule.host} cannot be resolved: ${messageOf(error)}` };
      });
      resolved.set(rule.host, found);
      const [oldest] = resolved.keys();
      if (resolved.size > MAX_NAMES && oldest !== undefined) resolved.delete(oldest);
    }
    const addresses = await found;
    // For each rule anew: what one may reach in a private network, another may not.
    return 'refused' in addresses ? addresses : vetAddresses(rule, addresses);
  };
  return async (rule, open = tcpConnect) => {
    const deadline = performance.now() + connectMs;
    const addresses = await inTime(addressesOf(rule), connectMs, {
      refused: `${rule.host} cannot be resolved: ${LATE}`,
    });
    if ('refused' in addresses) return addresses;
    let last = 'no address';
    for (const [at, address] of addresses.entries()) {
      // Those that are left share the time that is left: a dead one takes no more than its part.
      const withinMs = (deadline - performance.now()) / (addresses.length - at);
      const outcome = await connected(open({ host: address, port: rule.port, allowHalfOpen: halfOpen }), withinMs);
      if (typeof outcome !== 'string') return outcome;
      last = outcome;
    }
    return { refused: `${rule.host}:${rule.port} cannot be reached: ${last}` };
  };
}

async function inTime<T>(work: Promise<T>, withinMs: number, late: T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(late), withinMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function connected(socket: Socket, withinMs: number): Promise<Socket | string> {
  return new Promise(resolve => {
    const give = (outcome: Socket | string) => {
      clearTimeout(timer);
      socket.removeAllListeners('error').removeAllListeners('connect');
      if (typeof outcome === 'string') socket.on('error', () => undefined).destroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => give(LATE), withinMs);
    socket.once('connect', () => give(socket));
    socket.once('error', error => give(messageOf(error)));
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
