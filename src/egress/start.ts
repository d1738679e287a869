import { join } from 'node:path';
import { childUid, startChild } from './child.ts';
import type { EgressRules } from './decide.ts';
import type { EgressLimits } from './limits.ts';
import type { Settings } from './main.ts';
import type { EgressEvent } from './proxy.ts';

export type Egress = {
  /** The unix socket to mount into a run. */
  socket: string;
  /** What it did so far, bounded. */
  events: readonly EgressEvent[];
  pid: number;
  close(): Promise<void>;
};

const MAX_EVENTS = 1000;

/** Starts a proxy with nothing but its rules. `directory` is made for it, and removed with it. */
export async function startEgress(directory: string, rules: EgressRules, limits: EgressLimits): Promise<Egress> {
  const events: EgressEvent[] = [];
  const settings: Settings = { directory, rules, limits, uid: childUid() };
  const { pid, close } = await startChild({
    name: 'egress proxy',
    places: ['./main.ts', './main.js', './egress.js'],
    base: import.meta.url,
    directory,
    settings,
    onLine: line => {
      const event = JSON.parse(line) as EgressEvent | { kind: 'ready' }; // from our own child
      if (event.kind === 'ready') return true;
      if (events.length < MAX_EVENTS) events.push(event);
      return false;
    },
  });
  return { socket: join(directory, 'proxy.sock'), events, pid, close };
}
