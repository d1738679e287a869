import { isUtf8 } from 'node:buffer';
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { errnoOf } from './errors.ts';

/** Whose files we may rely on: our own and root's. */
export type Account = { uid: number | null };

export function thisAccount(): Account {
  return { uid: process.getuid?.() ?? null };
}

/** The text of a file, and its mode; null when there is none; a fault when there is one that cannot be relied on. */
export type GuardedText = { text: string; mode: number } | { fault: string } | null;

/** `mine`: nobody but this account or root may have written it. `links`: whether the file may be a link. */
export type Guards = { maxBytes: number; mine: boolean; links: boolean };

/** Reads a file that decides about power. "Not there" and "broken" are told apart: only the first means nothing. */
export function readGuarded(path: string, guards: Guards): GuardedText {
  let fd: number;
  try {
    // Asked first: most of these files are not there most of the time, and an exception costs more than the question.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
    // Not waiting: a FIFO in the place of the file must not hold us.
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (guards.links ? 0 : (constants.O_NOFOLLOW ?? 0));
    fd = openSync(path, flags);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOTDIR') return null;
    if (code !== 'ENOENT') return { fault: code === 'ELOOP' ? 'it is a link' : `it cannot be read (${code})` };
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : { fault: 'it is a link to nothing' };
  }
  try {
    return readOpen(fd, guards, thisAccount());
  } catch (error) {
    return { fault: `it cannot be read (${errnoOf(error) ?? String(error)})` };
  } finally {
    closeSync(fd);
  }
}

function readOpen(fd: number, { maxBytes, mine }: Guards, { uid }: Account): NonNullable<GuardedText> {
  const stats = fstatSync(fd);
  if (!stats.isFile()) return { fault: 'it is not a file' };
  if (mine && uid !== null && stats.uid !== uid && stats.uid !== 0) {
    return { fault: `it belongs to another account (uid ${stats.uid})` };
  }
  if (mine && uid !== null && (stats.mode & 0o002) !== 0) return { fault: 'everybody can write to it' };
  if (stats.size > maxBytes) return { fault: `it has more than ${maxBytes} bytes` };
  const bytes = readFileSync(fd);
  if (!isUtf8(bytes)) return { fault: 'it is not UTF-8 text' };
  const text = bytes.toString('utf8');
  return { text: text.startsWith('\uFEFF') ? text.slice(1) : text, mode: stats.mode };
}
