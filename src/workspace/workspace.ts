import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { errnoOf, placeIn, release, SkillboxError, visibleLine } from '../base/index.ts';
import { descend, type Reached, stepsOf } from './descend.ts';
import { checkGuarded, checkLinked, checkNames, checkObeyed, checkSecrets } from './guard.ts';
import { checkExtension, checkSize, READ_BYTES, WRITE_BYTES } from './limits.ts';
import { replaceFile } from './replace-file.ts';

export type Written = { path: string; bytes: number; sha256: string; created: boolean };
export type Edited = Written & { replacements: number };

/** One folder that an agent may read and write in. Paths in and out are relative to it. */
export type Workspace = {
  /** Its real path. */
  root: string;
  read(path: string): { path: string; text: string; bytes: number };
  /** `before` is told what will be written; when it throws, nothing is. */
  write(path: string, text: string, before: Before): Promise<Written>;
  edit(path: string, change: Change, before: Before): Promise<Edited>;
  /** A file of a skill, brought here on request: of any kind, and as large as what may be read (WS-08). */
  bring(path: string, content: Buffer, before: Before): Promise<Written>;
};

export type Before = (written: Written) => Promise<void>;
export type Change = { oldText: string; newText: string; all: boolean };

export function openWorkspace(path: string): Workspace {
  const root = realRoot(path);
  return {
    root,
    read: name => {
      const { path: at, content } = readText(root, name);
      return { path: at, text: decode(at, content), bytes: content.length };
    },
    write: async (name, text, before) => {
      const content = Buffer.from(text, 'utf8');
      checkSize(name, content.length, WRITE_BYTES);
      return put(root, name, { content, expected: null, checked: true }, before);
    },
    edit: async (name, change, before) => {
      const found = readText(root, name);
      const { text, replacements } = apply(found.path, decode(found.path, found.content), change);
      const content = Buffer.from(text, 'utf8');
      checkSize(name, content.length, WRITE_BYTES);
      return { ...(await put(root, name, { content, expected: found.stats, checked: true }, before)), replacements };
    },
    bring: async (name, content, before) => {
      checkSize(name, content.length, READ_BYTES);
      return put(root, name, { content, expected: null, checked: false }, before);
    },
  };
}

function realRoot(path: string): string {
  try {
    const root = realpathSync.native(path);
    if (statSync(root).isDirectory()) return root;
  } catch (cause) {
    throw new SkillboxError('NOT_FOUND', `there is no workspace ${visibleLine(path)}`, { cause });
  }
  throw new SkillboxError('NOT_FOUND', `the workspace ${visibleLine(path)} is not a directory`);
}

/** The resolved place, looked at for everything that is refused before it is opened. */
function reach(root: string, path: string, how: { writing: boolean; checked: boolean }): Reached | null {
  const shown = visibleLine(path);
  if (path.endsWith('/')) throw new SkillboxError('PATH_OUTSIDE', `${shown} is a folder, not a file`);
  const given = stepsOf(root, path, shown);
  checkParts(given, how.writing);
  const beforeFolder = (parts: readonly string[]) => {
    // What stands below a folder that is not there is no link: the name is the one that was given.
    if (how.checked) checkExtension(given.at(-1) ?? '');
    checkParts(parts, true);
    checkLinked(root, parts, true);
    checkObeyed(root, parts);
  };
  const reached = descend(root, given, how.writing ? beforeFolder : null);
  if (reached === null) return null;
  try {
    checkParts(reached.parts, how.writing);
    checkLinked(root, reached.parts, how.writing);
    if (how.writing) checkObeyed(root, reached.parts);
    if (how.checked) checkExtension(reached.name);
    return reached;
  } catch (error) {
    release(reached.parent);
    throw error;
  }
}

function checkParts(parts: readonly string[], writing: boolean): void {
  checkNames(parts);
  checkSecrets(parts);
  if (writing) checkGuarded(parts);
}

function readText(root: string, path: string): { path: string; content: Buffer; stats: Stats } {
  const reached = reach(root, path, { writing: false, checked: true });
  if (reached === null) throw absent(path);
  const at = reached.parts.join('/');
  try {
    const fd = openFile(placeIn(reached.parent, reached.name), at);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile()) throw new SkillboxError('UNREADABLE', `${visibleLine(at)} is not a regular file`);
      checkSize(at, stats.size, READ_BYTES);
      return { path: at, content: readAll(fd, at), stats };
    } finally {
      closeSync(fd);
    }
  } finally {
    release(reached.parent);
  }
}

function openFile(place: string, path: string): number {
  try {
    return openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const shown = visibleLine(path);
    switch (errnoOf(cause)) {
      case 'ENOENT':
        throw absent(path);
      case 'ELOOP':
        throw new SkillboxError('FILE_CHANGED', `${shown} changed while it was opened`, { cause });
      default:
        throw new SkillboxError('UNREADABLE', `${shown} cannot be read (${errnoOf(cause) ?? String(cause)})`, {
          cause,
        });
    }
  }
}

/** By what comes, not by the size that was told: a file may grow while it is read. */
function readAll(fd: number, path: string): Buffer {
  const buffer = Buffer.allocUnsafe(READ_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const read = readSync(fd, buffer, length, buffer.length - length, null);
    if (read === 0) break;
    length += read;
  }
  checkSize(path, length, READ_BYTES);
  return Buffer.from(buffer.subarray(0, length));
}

type Putting = { content: Buffer; expected: Stats | null; checked: boolean };

async function put(
  root: string,
  path: string,
  { content, expected, checked }: Putting,
  before: Before,
): Promise<Written> {
  const reached = reach(root, path, { writing: true, checked });
  if (reached === null) throw absent(path);
  try {
    return await replaceFile(reached, content, expected, created => {
      const sha256 = createHash('sha256').update(content).digest('hex');
      const written = { path: reached.parts.join('/'), bytes: content.length, sha256, created };
      return before(written).then(() => written);
    });
  } finally {
    release(reached.parent);
  }
}

function apply(path: string, text: string, { oldText, newText, all }: Change): { text: string; replacements: number } {
  const shown = visibleLine(path);
  if (oldText === '') throw new SkillboxError('EDIT_UNMATCHED', `the old text for ${shown} is empty`);
  const pieces = text.split(oldText);
  const replacements = pieces.length - 1;
  if (replacements === 0) throw new SkillboxError('EDIT_UNMATCHED', `the old text does not occur in ${shown}`);
  if (replacements > 1 && !all) {
    throw new SkillboxError('EDIT_UNMATCHED', `the old text occurs ${replacements} times in ${shown}`);
  }
  return { text: pieces.join(newText), replacements };
}

function decode(path: string, content: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw new SkillboxError('FILE_TYPE', `${visibleLine(path)} is not UTF-8 text`, { cause });
  }
}

function absent(path: string): SkillboxError {
  return new SkillboxError('NOT_FOUND', `there is no file ${visibleLine(path)} in the workspace`);
}
