import { join } from 'node:path';
import { type ChildProgram, childUid, startChild, type WaitingChild } from '../egress/index.ts';
import type { Brief, BrokerEvent } from './brief.ts';
import type { Pin } from './host/upstream.ts';
import type { Settings } from './main.ts';

/** What the operator says about the way out, for every run. */
export type BrokerSurroundings = {
  /** Hosts that are found elsewhere than DNS says. */
  pins: readonly Pin[];
  /** Certificates, as PEM, that the broker trusts beside the well-known ones. */
  roots: readonly string[];
};

export type RunningBroker = {
  /** The unix socket to mount into the run. */
  socket: string;
  /** What the run is to trust, as PEM. */
  ca: string;
  pid: number;
  /** When the process is gone; true: before it was asked to go. */
  died: Promise<boolean>;
  /** The token is dead with it: nothing else knows it. */
  close(): Promise<void>;
};

export const BROKER_PROGRAM: ChildProgram = {
  name: 'broker',
  places: ['./main.ts', './main.js', './broker.js'],
  base: import.meta.url,
};

/**
 * Starts the broker of one run with its brief and nothing else, or gives the brief to one which waits. `directory` is made for
 * it, and removed with it.
 */
export async function startBroker(
  directory: string,
  brief: Brief,
  port: number,
  { roots, pins, certificates }: BrokerSurroundings & { certificates: string | null },
  onEvent: (event: BrokerEvent) => void,
  waiting: WaitingChild | null = null,
): Promise<RunningBroker> {
  const said = { ca: '' };
  const settings: Settings = { directory, brief, port, roots, pins, certificates, uid: childUid() };
  const onLine = (line: string) => {
    const event = JSON.parse(line) as BrokerEvent; // from our own child
    if (event.event !== 'ready') {
      onEvent(event);
      return false;
    }
    said.ca = event.ca;
    return true;
  };
  const child = await startChild(BROKER_PROGRAM, { directory, settings, onLine }, waiting);
  return { ...child, socket: join(directory, 'broker.sock'), ca: said.ca };
}
