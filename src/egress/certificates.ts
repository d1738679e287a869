import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { visibleLine } from '../base/index.ts';

const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

const MAX_BYTES = 8 * 1024 ** 2;

/**
 * The host's certificates, because the made-up /etc of a sandbox has none; null where there are none. A run with a network
 * gets the file as it is: a variable that names something else, such as a key, must not hand that out.
 */
export async function hostCertificates(env: NodeJS.ProcessEnv = process.env): Promise<string | null> {
  const given = env.SSL_CERT_FILE;
  const paths = [...(given !== undefined && holdsOnlyCertificates(given) ? [given] : []), ...BUNDLES];
  const found = paths.find(path => existsSync(path));
  return found === undefined ? null : realpath(found);
}

/** What to tell whoever set a variable that is not followed; null where there is nothing to tell. */
export function certificatesWarning(env: NodeJS.ProcessEnv = process.env): string | null {
  const given = env.SSL_CERT_FILE ?? '';
  if (given === '' || holdsOnlyCertificates(given)) return null;
  const why = existsSync(given) ? 'is no file that holds certificates and nothing else' : 'is not there';
  return `SSL_CERT_FILE names ${visibleLine(given, 200)}, which ${why}: the certificates of the system are trusted instead`;
}

function holdsOnlyCertificates(path: string): boolean {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > MAX_BYTES) return false;
      const kinds = [...readFileSync(fd, 'latin1').matchAll(/-----BEGIN ([^-\n]*)-----/g)].map(
        ([, kind]) => kind ?? '',
      );
      return kinds.length > 0 && kinds.every(kind => /^(?:X509 |TRUSTED )?CERTIFICATE$/.test(kind));
    } finally {
      closeSync(fd);
    }
  } catch {
    return false; // not there, or not for us: the system's own will do
  }
}
