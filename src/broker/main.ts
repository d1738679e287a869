import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { listenAt, resolveHost, serveSettings } from '../egress/index.ts';
import type { Brief, BrokerEvent } from './brief.ts';
import { type Broker, createBroker } from './broker.ts';
import { createAuthority } from './certificates.ts';
import type { Pin } from './host/upstream.ts';
import { Teller } from './teller.ts';

/** The broker's process: what one run may use on the first line of stdin, events on stdout, and its end when stdin ends. */
export type Settings = {
  directory: string;
  brief: Brief;
  port: number;
  roots: readonly string[];
  pins: readonly Pin[];
  /** The host's file of trusted certificates; null: those that Node knows. */
  certificates: string | null;
  uid: number | null;
};

const SOCKET = 'broker.sock';

const teller = new Teller(text => void process.stdout.write(text));
let broker: Broker | null = null;

// Once for nothing, and thrown away: the first key pair of a process takes far longer than the next.
createAuthority(Date.now());

serveSettings<Settings>(
  ({ directory, uid, certificates, ...told }) => {
    // Now, because afterwards this process may read less.
    const trusted = certificates === null ? rootCertificates : [readFileSync(certificates, 'utf8')];
    const say = (event: BrokerEvent) => teller.tell(event);
    const made = createBroker({ ...told, roots: [...trusted, ...told.roots], resolve: resolveHost, say });
    broker = made;
    listenAt(made.server, directory, SOCKET, uid, () => say({ event: 'ready', socket: SOCKET, ca: made.ca }));
  },
  async () => {
    broker?.end();
    teller.flush();
  },
);
