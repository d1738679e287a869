import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** `public`: anywhere. `private`: only where the operator named the host. `never`: whoever asks. */
export type Reach = 'public' | 'private' | 'never';

const PRIVATE: readonly string[] = [
  '10.0.0.0/8',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  // Carrier-grade NAT, which clouds and VPNs use inside.
  '100.64.0.0/10',
  // For documents and measurements: nobody's on the internet, so whoever answers there stands inside.
  '192.0.2.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '::1/128',
  '2001:db8::/32',
  'fc00::/7',
];

/**
 * Link-local carries the metadata services of clouds, and a name that an operator trusts must not be pointed there by
 * DNS. IPv6 that wraps an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) would be a second spelling of it.
 */
const NEVER: readonly string[] = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2002::/16',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/** Made at the first question: most who load this module ask none. */
let ranges: { isPrivate: InRange; isNever: InRange } | null = null;

/**
 * What an address that DNS gave may be dialled for. `near` are this machine's own addresses and their networks: a public
 * address of ours is served from inside, behind every firewall.
 */
export function reachOf(address: string, near: readonly string[] = ownNetworks()): Reach {
  if (!isIPv4(address) && !isIPv6(address)) return 'never';
  // A zone names an interface of this host.
  if (address.includes('%')) return 'never';
  ranges ??= { isPrivate: listOf(PRIVATE), isNever: listOf(NEVER) };
  // Before `never`, because ::1 lies in ::/96.
  if (ranges.isPrivate(address)) return 'private';
  if (ranges.isNever(address)) return 'never';
  return listOf(near)(address) ? 'private' : 'public';
}

/** An interface that claims half of the internet, as some tunnels do, has no neighbours that we could tell. */
const WIDEST = { IPv4: 16, IPv6: 48 };

export function ownNetworks(interfaces = networkInterfaces()): string[] {
  const all = Object.values(interfaces).flatMap(infos => infos ?? []);
  return all.flatMap(({ address, family, cidr }) => {
    const own = `${address}/${family === 'IPv4' ? 32 : 128}`;
    return cidr !== null && Number(cidr.split('/')[1]) >= WIDEST[family] ? [own, cidr] : [own];
  });
}

type InRange = (address: string) => boolean;

function listOf(networks: readonly string[]): InRange {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of networks) {
    const [network = '', bits] = range.split('/');
    const family = isIPv4(network) ? 'ipv4' : 'ipv6';
    lists[family].addSubnet(network, Number(bits), family);
  }
  // One list per family: a BlockList takes a mapped IPv6 address for the IPv4 one inside it.
  return address => {
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    return lists[family].check(address, family);
  };
}
