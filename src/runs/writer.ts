import { isAlive, type Owner, thisOwner } from '../sandbox/index.ts';
import type { Writer } from '../store/index.ts';

const ID = /^([0-9a-f]+)-(.+)-(\d+)-(\d+)-(\d+)$/;

/** This process as it signs what it has half written. */
export function thisWriter(): Writer {
  return { id: render(thisOwner()), isDead };
}

function render({ instance, bootId, pidNamespace, pid, startTime }: Owner): string {
  return [instance, bootId, pidNamespace, pid, startTime].join('-');
}

/** What no process signed is nobody's to finish. */
function isDead(id: string): boolean {
  const match = ID.exec(id);
  if (match === null) return true;
  const [, instance = '', bootId = '', pidNamespace = '', pid, startTime] = match;
  return !isAlive({ instance, bootId, pidNamespace, pid: Number(pid), startTime: Number(startTime) });
}
