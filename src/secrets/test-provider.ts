import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect as connectTls, rootCertificates } from 'node:tls';
import type { BrokerSurroundings } from '../broker/index.ts';
import { certificatesWarning, createDial, hostCertificates, resolveHost } from '../egress/index.ts';
import { noProvider, type Providers } from './catalog.ts';
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
  around: BrokerSurroundings,
): Promise<Checked[]> {
  const provider = providers.get(name);
  if (provider === null) throw noProvider(name, providers.list());
  const checked = [
    { what: 'its data', fault: faultOfData(provider) },
    { what: 'its key', fault: await faultOfKey(name, vault) },
  ];
  return online ? [...checked, { what: 'its host', fault: await faultOfHost(provider, around) }] : checked;
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

/**
 * As the broker would: at the operator's pin or resolved once, vetted, and that address dialled, with the certificates that it trusts.
 * Nothing is sent.
 */
async function faultOfHost(
  { scheme, host, port, allowPrivate }: Provider,
  { pins, roots }: BrokerSurroundings,
): Promise<string | null> {
  const pin = pins.find(each => each.host === host && each.port === port);
  const dial = createDial(resolveHost, DIAL_MS, { halfOpen: false });
  const socket = await dial(
    pin === undefined ? { host, port, private: allowPrivate } : { host: pin.address, port: pin.toPort, private: true },
  );
  if ('refused' in socket) return socket.refused;
  if (scheme === 'http') {
    socket.destroy();
    return null;
  }
  const file = await hostCertificates();
  const trusted = file === null ? rootCertificates : [readFileSync(file, 'utf8')];
  return new Promise(resolve => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const secured = connectTls({ socket, host, ...servername, ca: [...trusted, ...roots], minVersion: 'TLSv1.2' });
    const end = (fault: string | null) => {
      secured.destroy();
      resolve(fault);
    };
    secured.setTimeout(DIAL_MS, () => end(`${host} cannot be trusted: no handshake in time`));
    secured.once('secureConnect', () => end(null));
    // What follows a semicolon is advice on how to start Node.
    secured.once('error', error => {
      const warning = certificatesWarning();
      const more = warning === null ? '' : `; ${warning}`;
      end(`${host} cannot be trusted: ${error.message.split(';')[0]}${more}`);
    });
  });
}
