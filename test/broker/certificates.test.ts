import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as tcpConnect } from 'node:net';
import { join } from 'node:path';
import { connect, TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '../../src/broker/certificates.ts';
import { integer, octets, oid, time } from '../../src/broker/der.ts';
import { skipUnless } from '../support/require.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const noOpenssl = skipUnless(existsSync('/usr/bin/openssl'), 'openssl', 'openssl is not installed');

describe('DER', () => {
  test('numbers, lengths, names of algorithms and times as X.690 has them', () => {
    expect(integer(Buffer.from([0, 0, 0x80])).toString('hex')).toBe('02020080');
    expect(integer(Buffer.from([0])).toString('hex')).toBe('020100');
    expect(oid('1.2.840.10045.4.3.2').toString('hex')).toBe('06082a8648ce3d040302');
    expect(time(new Date(Date.UTC(2049, 11, 31, 23, 59, 59))).toString('latin1')).toBe('\x17\x0d491231235959Z');
    expect(time(new Date(Date.UTC(2050, 0, 1))).toString('latin1')).toBe('\x18\x0f20500101000000Z');
    fc.assert(
      fc.property(fc.nat(70_000), length => {
        const der = octets(Buffer.alloc(length));
        const head = length < 128 ? 2 : length < 256 ? 3 : length < 65_536 ? 4 : 5;
        expect(der.length).toBe(head + length);
      }),
    );
  });
});

describe('the authority of a run', () => {
  test.each(['api.test', '127.0.0.1', '::1', '2001:db8::5', `${'a'.repeat(60)}.${'b'.repeat(60)}.test`])(
    'vouches for %s, and a client that trusts it alone connects',
    async host => {
      const authority = createAuthority(Date.now() + 60_000);
      const server = createServer(
        socket => void new TLSSocket(socket, { isServer: true, secureContext: authority.contextFor(host) }),
      );
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = tcpConnect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      const named = host.includes('test') ? { servername: host } : {};
      const client = connect({ socket, host, ca: authority.pem, ...named });
      await once(client, 'secureConnect');
      expect(client.authorized).toBe(true);
      client.destroy();
      server.close();
    },
  );

  test('is its own for each run, and ends with it', () => {
    const [one, other] = [createAuthority(Date.now()), createAuthority(Date.now())];
    const certificate = new X509Certificate(one.pem);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.verify(new X509Certificate(other.pem).publicKey)).toBe(false);
    expect(new Date(certificate.validTo).getTime()).toBeLessThan(Date.now() + 2 * 3_600_000);
    expect(one.contextFor('a.test')).toBe(one.contextFor('a.test'));
  });

  test.skipIf(noOpenssl)('holds before a strict judge that is not ours', () => {
    const path = join(tempDir('ca'), 'ca.pem');
    writeFileSync(path, createAuthority(Date.now() + 60_000).pem);
    const said = execFileSync('openssl', ['verify', '-x509_strict', '-CAfile', path, path], { encoding: 'utf8' });
    expect(said).toBe(`${path}: OK\n`);
  });
});
