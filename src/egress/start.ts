import { join } from 'node:path';
import { type ChildProgram, childUid, startChild, type WaitingChild } from './child.ts';
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

export const EGRESS_PROGRAM: ChildProgram = {
  name: 'egress proxy',
  places: ['./main.ts', './main.js', './egress.js'],
  base: import.meta.url,
};

/**
 * Starts a proxy with nothing but its rules, or gives them to one which waits. `directory` is made for it, and removed with
 * it.
 */
export async function startEgress(
  directory: string,
  rules: EgressRules,
  limits: EgressLimits,
  waiting: WaitingChild | null = null,
): Promise<Egress> {
  const events: EgressEvent[] = [];
  const settings: Settings = { directory, rules, limits, uid: childUid() };
  const onLine = (line: string) => {
    const event = JSON.parse(line) as EgressEvent | { kind: 'ready' }; // from our own child
    if (event.kind === 'ready') return true;
    if (events.length < MAX_EVENTS) events.push(event);
    return false;
  };
  const { pid, close } = await startChild(EGRESS_PROGRAM, { directory, settings, onLine }, waiting);
  return { socket: join(directory, 'proxy.sock'), events, pid, close };
}
