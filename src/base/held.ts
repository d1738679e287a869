import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from './errors.ts';

/**
 * A directory that others may write to, held by a descriptor. Everything below it is reached one name at a time from a held
 * directory, so that no part of a path can be a link: a `files` that leads to the host's /etc is not entered.
 */
export type Held = { fd: number; path: string };

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What stands there instead of a regular file with a single name, or of a directory. */
export type Instead = 'absent' | 'a link' | 'not a regular file' | 'not a directory' | 'a hard link' | 'unreadable';

export function hold(path: string): Held {
  return { fd: openSync(path, DIRECTORY), path };
}

export function release({ fd }: Held): void {
  closeSync(fd);
}

/** The directory at a relative path below; '' is the directory itself. The caller releases it. */
export function holdBelow(held: Held, path: string): Held | Instead {
  let below: Held | null = null;
  for (const name of path.split('/').filter(part => part !== '')) {
    const above: Held = below ?? held;
    const next = attempt(() => hold(placeIn(above, name)));
    if (below !== null) release(below);
    if (typeof next === 'string') return next;
    below = next;
  }
  return below ?? hold(placeIn(held, '.'));
}

export type OpenFile = { fd: number; bytes: number };

/** A regular file with one name only; the caller closes it. Another name would be a file that the run did not make. */
export function openBelow(held: Held, path: string): OpenFile | Instead {
  const names = path.split('/');
  const name = names.pop() ?? '';
  const parent = names.length === 0 ? held : holdBelow(held, names.join('/'));
  if (typeof parent === 'string') return parent;
  try {
    const fd = attempt(() => openSync(placeIn(parent, name), FILE));
    if (typeof fd === 'string') return fd;
    const stats = fstatSync(fd);
    const instead = !stats.isFile() ? 'not a regular file' : stats.nlink > 1 ? 'a hard link' : null;
    if (instead === null) return { fd, bytes: stats.size };
    closeSync(fd);
    return instead;
  } finally {
    if (parent !== held) release(parent);
  }
}

/** Names as they come, so that who has seen enough can stop. */
export function* namesIn(held: Held): Generator<string> {
  const directory = opendirSync(placeIn(held, '.'));
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry.name;
  } finally {
    directory.closeSync();
  }
}

export function statIn(held: Held, name: string): Stats | null {
  return lstatSync(placeIn(held, name), { throwIfNoEntry: false }) ?? null;
}

/** Linux reaches through the descriptor itself; elsewhere the path stands in, behind which everything is dead by now. */
export function placeIn({ fd, path }: Held, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${fd}/${name}` : join(path, name);
}

function attempt<T>(open: () => T): T | Instead {
  try {
    return open();
  } catch (error) {
    switch (errnoOf(error)) {
      case 'ENOENT':
        return 'absent';
      case 'ELOOP':
        return 'a link';
      case 'ENOTDIR':
        return 'not a directory';
      case 'ENXIO':
        return 'not a regular file';
      default:
        return 'unreadable';
    }
  }
}
