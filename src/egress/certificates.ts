import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';

const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** The host's certificates, because the made-up /etc of a sandbox has none; null where there are none. */
export async function hostCertificates(): Promise<string | null> {
  const found = [process.env.SSL_CERT_FILE, ...BUNDLES].find(path => path !== undefined && existsSync(path));
  return found === undefined ? null : realpath(found);
}
