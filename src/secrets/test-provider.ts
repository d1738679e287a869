import { lookup } from 'node:dns/promises';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SkillboxError } from '../base/index.ts';
import { reachOf } from '../egress/index.ts';
import type { Providers } from './catalog.ts';
import { faultOfValue, MIN_SCRUBBED_BYTES } from './names.ts';
import { faultOfPattern } from './path-pattern.ts';
import type { Provider } from './provider.ts';
import type { Vault } from './vault.ts';

/** One thing that was looked at. `fault` is null when it is as it should be. */
export type Checked = { what: string; fault: string | null };

const DIAL_MS = 10_000;

/** Whether a skill could use the provider now. */
export async function testProvider(
  name: string,
  online: boolean,
  vault: Vault,
  providers: Providers,
): Promise<Checked[]> {
  const provider = providers.get(name);
  if (provider === null) {
    throw new SkillboxError('NOT_FOUND', `there is no provider "${name}"`, {
      hint: '`skillbox provider list` shows them.',
    });
  }
  const checked = [
    { what: 'its data', fault: faultOfData(provider) },
    { what: 'its key', fault: await faultOfKey(name, vault) },
  ];
  return online ? [...checked, { what: 'its host', fault: await faultOfHost(provider) }] : checked;
}

function faultOfData({ endpoints }: Provider): string | null {
  for (const { name, requests } of endpoints) {
    const fault = requests.map(({ path }) => faultOfPattern(path)).find(each => each !== null);
    if (fault !== undefined) return `${name}: ${fault}`;
  }
  return endpoints.length === 0 ? 'it has no endpoints' : null;
}

async function faultOfKey(name: string, vault: Vault): Promise<string | null> {
  const secret = await vault.open(name);
  if (secret === null) return `it is not set; run: skillbox secret set ${name}`;
  try {
    if (secret.value.length < MIN_SCRUBBED_BYTES) return `it has less than ${MIN_SCRUBBED_BYTES} bytes`;
    return faultOfValue(secret.value, true);
  } finally {
    secret.close();
  }
}

/** As the broker would: resolved once, vetted, and that address dialled. Nothing is sent. */
async function faultOfHost({ scheme, host, port, allowPrivate }: Provider): Promise<string | null> {
  try {
    const { address } = await lookup(host);
    const reach = reachOf(address);
    if (reach === 'never' || (reach === 'private' && !allowPrivate))
      return `${host} is at ${address}, which is not reached`;
    await new Promise<void>((resolve, reject) => {
      const socket =
        scheme === 'https'
          ? connectTls({ host: address, port, servername: host, timeout: DIAL_MS }, done)
          : connectPlain({ host: address, port, timeout: DIAL_MS }, done);
      function done(): void {
        socket.destroy();
        resolve();
      }
      socket.once('timeout', () => socket.destroy(new Error('no answer')));
      socket.once('error', reject);
    });
    return null;
  } catch (error) {
    return `${host}:${port} cannot be reached: ${error instanceof Error ? error.message : String(error)}`;
  }
}
