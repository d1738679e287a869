import { writeFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ownNetworks } from '../../src/egress/address.ts';
import { vetAddresses } from '../../src/egress/decide.ts';
import { onwardHeaders, returnHeaders } from '../../src/egress/headers.ts';
import {
  certificatesWarning,
  type EgressRule,
  findRule,
  hostCertificates,
  parseAbsolute,
  parseAuthority,
  reachOf,
} from '../../src/egress/index.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const refused = { refused: expect.any(String) as string };
const rule = (host: string, named: boolean): EgressRule => ({ host, port: 443, private: named });

describe('the host of a request', () => {
  test.each([
    ['index.example:443', { host: 'index.example', port: 443 }],
    ['INDEX.Example:8080', { host: 'index.example', port: 8080 }],
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['[2606:4700::1]:443', { host: '2606:4700::1', port: 443 }],
    ['xn--bcher-kva.example:443', { host: 'xn--bcher-kva.example', port: 443 }],
  ])('%s is taken', (text, target) => {
    expect(parseAuthority(text, null)).toEqual(target);
  });

  test.each([
    'index.example\0.evil:443',
    'index.example :443',
    'user@index.example:443',
    'user:secret@index.example:443',
    'index.example.:443',
    'bücher.example:443',
    '2130706433:80',
    '0x7f.1:80',
    '0x7f000001:80',
    '127.1:80',
    '0177.0.0.1:80',
    '127.0.0.1.:80',
    '256.0.0.1:80',
    '[::ffff:127.0.0.1]:80',
    '[::ffff:7f00:1]:80',
    '[fe80::1%eth0]:80',
    '::1:80',
    'index.example:0',
    'index.example:65536',
    'index.example:080808',
    'index.example',
    'index.example:443/evil',
    'index.example:443\\evil',
    'index%2eexample:443',
    '-a.example:443',
    '',
    ':443',
  ])('%j is refused', text => {
    expect(parseAuthority(text, null)).toEqual(refused);
  });

  test.each([
    'https://index.example/',
    '/simple/',
    'http:///simple',
    'http://index.example@evil.example/',
    'http://index.example\\@evil.example/',
    'http://index.example#@evil.example/',
    'http://index.example?@evil.example/',
    'http://index.example/a b',
    'ftp://index.example/',
  ])('a plain request for %j is refused', url => {
    expect(parseAbsolute(url)).toEqual(refused);
  });

  test('a plain request keeps its path as it is', () => {
    expect(parseAbsolute('http://index.example:81/a/%2e%2e//b?c=1')).toEqual({
      host: 'index.example',
      port: 81,
      path: '/a/%2e%2e//b?c=1',
    });
  });
});

describe('the list', () => {
  test('an empty one means none', () => {
    expect(findRule([], { host: 'index.example', port: 443 })).toEqual(refused);
  });

  test.each([
    ['index.example', 80],
    ['sub.index.example', 443],
    ['evilindex.example', 443],
    ['index.example.evil', 443],
  ])('%s:%i is another place', (host, port) => {
    expect(findRule([rule('index.example', false)], { host, port })).toEqual(refused);
  });
});

describe('addresses', () => {
  test.each([
    ['93.184.216.34', 'public'],
    ['2606:4700::1', 'public'],
    ['127.0.0.1', 'private'],
    ['10.1.2.3', 'private'],
    ['172.31.0.1', 'private'],
    ['192.168.1.1', 'private'],
    ['100.100.100.200', 'private'],
    ['203.0.113.80', 'private'],
    ['::1', 'private'],
    ['2001:db8::1', 'private'],
    ['fd00:ec2::254', 'private'],
    ['169.254.169.254', 'never'],
    ['0.0.0.0', 'never'],
    ['::', 'never'],
    ['224.0.0.1', 'never'],
    ['255.255.255.255', 'never'],
    ['fe80::1', 'never'],
    ['::ffff:127.0.0.1', 'never'],
    ['::ffff:5db8:d822', 'never'],
    ['64:ff9b::7f00:1', 'never'],
    ['2002:7f00:1::', 'never'],
    ['not an address', 'never'],
  ])('%s is %s', (address, reach) => {
    expect(reachOf(address)).toBe(reach);
  });

  test('a private one is dialled only for a host that the operator named, link-local never', () => {
    expect(vetAddresses(rule('a.example', false), ['127.0.0.1', '10.0.0.1'])).toEqual(refused);
    expect(vetAddresses(rule('a.example', true), ['169.254.169.254', '10.0.0.1'])).toEqual(['10.0.0.1']);
    expect(vetAddresses(rule('a.example', true), ['169.254.169.254'])).toEqual(refused);
    expect(vetAddresses(rule('a.example', false), [])).toEqual(refused);
  });
});

test('headers of one connection end at the proxy, and the host is the one decided on', () => {
  const raw = ['Host', 'evil.example', 'Connection', 'X-Secret, close', 'X-Secret', '1', 'Accept', '*/*'];
  expect(
    onwardHeaders([...raw, 'Proxy-Authorization', 'x', 'Upgrade', 'h2c'], { host: 'a.example', port: 81 }),
  ).toEqual(['host', 'a.example:81', 'Accept', '*/*', 'connection', 'close']);
  expect(returnHeaders(['Transfer-Encoding', 'chunked', 'ETag', '1', 'Keep-Alive', 'x'])).toEqual(['ETag', '1']);
});

describe('the public addresses of this machine', () => {
  const info = (address: string, cidr: string | null, family: 'IPv4' | 'IPv6') =>
    ({ address, cidr, family, netmask: '', mac: '', internal: false, scopeid: 0 }) as NetworkInterfaceInfo;
  const near = ownNetworks({
    eth0: [info('8.8.4.4', '8.8.4.4/24', 'IPv4'), info('2600:1901:0:1::7', '2600:1901:0:1::7/64', 'IPv6')],
    tun0: [info('9.9.9.9', '9.9.9.9/1', 'IPv4'), info('2620:fe::fe', null, 'IPv6')],
  });

  test.each([
    ['8.8.4.4', 'private'],
    ['8.8.4.1', 'private'],
    ['2600:1901:0:1::7', 'private'],
    ['2600:1901:0:1:aaaa::1', 'private'],
    ['9.9.9.9', 'private'],
    ['2620:fe::fe', 'private'],
    ['8.8.8.8', 'public'],
    ['1.1.1.1', 'public'],
    ['2600:1901:0:2::7', 'public'],
    ['2620:fe::9', 'public'],
    ['169.254.169.254', 'never'],
  ])('%s is %s', (address, reach) => {
    expect(reachOf(address, near)).toBe(reach);
  });

  test('no address of any interface of this machine counts as public', () => {
    const own = Object.values(networkInterfaces()).flatMap(infos => (infos ?? []).map(one => one.address));
    expect(own.filter(address => reachOf(address) === 'public')).toEqual([]);
  });
});

test('a variable that names no certificates hands nothing to a run', async () => {
  const place = tempDir('certificates');
  const file = (name: string, text: string) => {
    writeFileSync(join(place, name), text);
    return join(place, name);
  };
  const block = (kind: string) => `-----BEGIN ${kind}-----\nAAAA\n-----END ${kind}-----\n`;
  const system = await hostCertificates({});
  const bundle = file('bundle', `# ours\n${block('CERTIFICATE')}${block('TRUSTED CERTIFICATE')}`);
  expect(await hostCertificates({ SSL_CERT_FILE: bundle })).toBe(bundle);
  expect(['', bundle, undefined].map(given => certificatesWarning({ SSL_CERT_FILE: given }))).toEqual([
    null,
    null,
    null,
  ]);
  for (const other of [
    file('id_rsa', block('OPENSSH PRIVATE KEY')),
    file('both', block('CERTIFICATE') + block('PRIVATE KEY')),
    file('token', 'hunter2\n'),
    place,
    join(place, 'missing'),
  ]) {
    expect(await hostCertificates({ SSL_CERT_FILE: other })).toBe(system);
    const why = other.endsWith('missing') ? 'is not there' : 'is no file that holds certificates and nothing else';
    expect(certificatesWarning({ SSL_CERT_FILE: other })).toContain(`SSL_CERT_FILE names ${other}, which ${why}`);
  }
});
