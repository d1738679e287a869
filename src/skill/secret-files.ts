/** Names under which people keep secrets. Read from the name alone: a file that may hold a secret is never opened. */

const NAMES = new Set(['.env', '.npmrc', '.netrc', '_netrc', '.pypirc', '.pgpass', '.git-credentials', '.htpasswd']);
const ENV_EXAMPLE = /\.(?:example|sample|template)$/;
const SSH_KEY = /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[-_.].*)?$/;
// Certificates and public keys are .pem and .der too: only what calls itself a key, and not a public one.
const PRIVATE_KEY = /(?:^|[-_.])(?:private|priv|privkey|key)(?:[-_.]?[0-9]+)?\.(?:pem|der)$/;
// A bare *.key is Keynote's; these are what web servers call theirs.
const SERVER_KEY = /(?:^|[-_.])(?:private|privkey|server|client|tls|ssl|ca)\.key$/;
const KEY_STORE = /\.(?:p12|pfx)$/;

export function isSecretFile(name: string): boolean {
  const lower = name.toLowerCase();
  if (NAMES.has(lower)) return true;
  if (lower.startsWith('.env.')) return !ENV_EXAMPLE.test(lower);
  if (SSH_KEY.test(lower)) return !/\.(?:pub|md)$/.test(lower);
  if (PRIVATE_KEY.test(lower)) return !lower.includes('pub');
  return SERVER_KEY.test(lower) || KEY_STORE.test(lower);
}
