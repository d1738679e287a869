import { readFileSync, readlinkSync } from 'node:fs';
import { chance, errnoOf } from '../base/index.ts';
import type { Owner } from './sandbox.ts';

let mine: Owner | null = null;

export function thisOwner(): Owner {
  mine ??= {
    instance: chance(6).toString('hex'),
    bootId: bootId(),
    pidNamespace: pidNamespace(),
    pid: process.pid,
    startTime: startTimeOf(process.pid) ?? 0,
  };
  return mine;
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // No Linux: owners are then told apart by pid alone, and nothing there is ever swept by boot.
    return 'unknown';
  }
}

function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

/** Field 22 of /proc/PID/stat, or null when there is no such process. The name in field 2 may hold anything. */
export function startTimeOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie holds nothing any more.
    if (afterName[0] === 'Z' || afterName[0] === 'X') return null;
    return Number(afterName[19]);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ESRCH') return null;
    throw error;
  }
}

/** In doubt alive: a sweep that cannot judge must not touch. */
export function isAlive(owner: Owner): boolean {
  const me = thisOwner();
  if (owner.bootId !== me.bootId) return false;
  if (owner.pidNamespace !== me.pidNamespace) return true;
  return startTimeOf(owner.pid) === owner.startTime;
}

export function sameOwner(a: Owner, b: Owner): boolean {
  return a.instance === b.instance && a.bootId === b.bootId && a.pid === b.pid && a.startTime === b.startTime;
}

const ID = /^sb-([0-9a-f]{12})-([0-9a-f-]{36}|unknown)-(\d+)-(\d+)-(\d+)-([0-9a-f]{8})$/;

/** The owner stands in the name of every directory, cgroup and mount, so nothing else must survive to sweep it. */
export function newId(owner: Owner): string {
  const { instance, bootId, pidNamespace, pid, startTime } = owner;
  return `sb-${instance}-${bootId}-${pidNamespace}-${pid}-${startTime}-${chance(4).toString('hex')}`;
}

export function ownerOfId(id: string): Owner | null {
  const match = ID.exec(id);
  if (match === null) return null;
  const [, instance = '', bootId = '', pidNamespace = '', pid, startTime] = match;
  return { instance, bootId, pidNamespace, pid: Number(pid), startTime: Number(startTime) };
}
