import { errnoOf, SkillboxError } from '../base/index.ts';

/** A mode that shuts its owner out, a name that is no text, a path longer than a call takes, a link, a socket, nothing at all. */
const UNREADABLE = new Set(['EACCES', 'ENOENT', 'ENAMETOOLONG', 'ELOOP', 'ENOTDIR', 'ENXIO']);

/** What a build left is a stranger's: where it cannot be read, that is the build's fault, and the paths of this machine are no part of it. */
export async function readLeft<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const errno = errnoOf(cause) ?? '';
    if (!UNREADABLE.has(errno)) throw cause;
    throw new SkillboxError('DEPENDENCIES_FAILED', `the build left what cannot be read (${errno})`, {
      hint: 'A package of this kind, or the package manager of this image, cannot be used.',
      cause,
    });
  }
}
