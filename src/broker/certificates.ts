import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { bits, boolean, implicit, integer, octets, oid, sequence, set, tagged, time, utf8 } from './der.ts';

/**
 * TLS ends at the broker, so that method, path and credential can be judged. The authority that vouches for it is made for
 * one run, lives in the broker's memory, and is trusted inside that run's sandbox and nowhere else.
 */
export type Authority = {
  /** What the sandbox is told to trust. Not a secret. */
  pem: string;
  /** The broker's certificate for a host. */
  contextFor(host: string): SecureContext;
};

const OID = {
  ecdsaSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeName: '2.5.29.17',
  constraints: '2.5.29.19',
  authorityKey: '2.5.29.35',
  extendedUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
};
/** A run with the whole internet may visit many hosts; the oldest certificates are forgotten. */
const MAX_KEPT = 256;
const CLOCK_MS = 3_600_000;

type Pair = { publicKey: KeyObject; privateKey: KeyObject };

export function createAuthority(expiresAt: number): Authority {
  const own = newPair();
  const leaf = newPair();
  const validity = sequence(time(new Date(Date.now() - CLOCK_MS)), time(new Date(expiresAt + CLOCK_MS)));
  const issuer = nameOf('Skillbox broker of one run');
  const certificate = issue(own, own.publicKey, issuer, issuer, validity, [
    extension(OID.constraints, sequence(boolean(true), integer(Buffer.from([0]))), true),
    extension(OID.keyUsage, bits(Buffer.from([0b0000_0110]), 1), true), // sign certificates and revocation lists
  ]);
  const kept = new Map<string, SecureContext>();
  const make = (host: string): SecureContext => {
    const cert = issue(own, leaf.publicKey, issuer, nameOf(host.slice(0, 64)), validity, [
      extension(OID.constraints, sequence(), true),
      extension(OID.keyUsage, bits(Buffer.from([0b1000_0000]), 7), true),
      extension(OID.extendedUsage, sequence(oid(OID.serverAuth)), false),
      extension(OID.alternativeName, sequence(alternativeName(host)), false),
    ]);
    const key = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' });
    return createSecureContext({ key, cert: toPem(cert), minVersion: 'TLSv1.2' });
  };
  return {
    pem: toPem(certificate),
    contextFor(host) {
      const found = kept.get(host) ?? make(host);
      kept.delete(host);
      kept.set(host, found);
      const [oldest] = kept.keys();
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      return found;
    },
  };
}

function newPair(): Pair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function issue(
  by: Pair,
  key: KeyObject,
  issuer: Buffer,
  subject: Buffer,
  validity: Buffer,
  extensions: readonly Buffer[],
): Buffer {
  const algorithm = sequence(oid(OID.ecdsaSha256));
  const keys = [
    extension(OID.subjectKey, octets(keyId(key)), false),
    extension(OID.authorityKey, sequence(implicit(0, keyId(by.publicKey))), false),
  ];
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    issuer,
    validity,
    subject,
    key.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(...extensions, ...keys)),
  );
  return sequence(body, algorithm, bits(sign('sha256', body, by.privateKey)));
}

function extension(id: string, value: Buffer, critical: boolean): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
}

function nameOf(text: string): Buffer {
  return sequence(set(sequence(oid(OID.commonName), utf8(text))));
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? implicit(2, Buffer.from(host)) : implicit(7, addressBytes(host));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const words = (text: string) => (text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16)));
  const [left, right] = [words(head), words(tail ?? '')];
  const all = tail === undefined ? left : [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
  return Buffer.from(all.flatMap(word => [word >> 8, word & 0xff]));
}

function toPem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
