import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { listenAt, resolveHost, sayLine, serveSettings } from '../egress/index.ts';
import type { Brief, BrokerEvent } from './brief.ts';
import { createBroker } from './broker.ts';
import type { Pin } from './upstream.ts';

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

serveSettings<Settings>(({ directory, uid, certificates, ...told }) => {
  // Now, because afterwards this process may read less.
  const trusted = certificates === null ? rootCertificates : [readFileSync(certificates, 'utf8')];
  const say = (event: BrokerEvent) => sayLine(event);
  const { server, ca } = createBroker({ ...told, roots: [...trusted, ...told.roots], resolve: resolveHost, say });
  listenAt(server, directory, SOCKET, uid, () => say({ event: 'ready', socket: SOCKET, ca }));
});
