import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../base/index.ts';

/** Who writes: its name stands in what is half written, so that others can tell whether anyone still finishes it. */
export type Writer = { id: string; isDead(id: string): boolean };

const PART = /^\.(.+)\.[0-9a-f-]{36}\.part$/;

/** A new path in the directory for something that is renamed when it is whole. */
export function partPath(directory: string, writer: Writer): string {
  return join(directory, `.${writer.id}.${randomUUID()}.part`);
}

/** Gives up what was not finished. */
export async function discard(path: string): Promise<void> {
  // The fault that led here is the one to tell; what stays, a sweep removes.
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}

/** Removes what dead writers left half written in the directory; the living are left alone. */
export async function sweepParts(directory: string, writer: Writer): Promise<void> {
  for (const name of list(directory)) {
    const owner = PART.exec(name)?.[1];
    if (owner !== undefined && writer.isDead(owner)) await rm(join(directory, name), { recursive: true, force: true });
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}
