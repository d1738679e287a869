import { chmod, cp, lchown, lstat, mkdir, readdir, readlink, rename, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import { removeTree } from '../sandbox/index.ts';
import { readLeft } from './left.ts';

/**
 * Takes what a build wrote, makes it ours and read-only, and gives it its name by one rename: a layer is there whole or
 * not at all. The processes of the build are dead by now.
 */
export async function publishTree(source: string, name: string, aside: string, target: string, about: object) {
  await mkdir(aside, { recursive: true, mode: 0o755 });
  await readLeft(async () => {
    await take(source, join(aside, name));
    await seal(join(aside, name));
  });
  await writeFile(join(aside, 'layer.json'), `${JSON.stringify(about, null, 2)}\n`, { mode: 0o444 });
  await chmod(aside, 0o755);
  try {
    await rename(aside, target);
  } catch (error) {
    if (errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') throw error;
    await removeTree(aside); // another process published the same content meanwhile
  }
}

async function take(source: string, target: string): Promise<void> {
  try {
    await rename(source, target);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      await mkdir(target); // nothing to install is a layer too
      return;
    }
    if (errnoOf(error) !== 'EXDEV') throw error;
    await cp(source, target, { recursive: true, verbatimSymlinks: true });
  }
}

/** Files without a write bit or set-id bit, links only to inside; anything else is no package. */
async function seal(root: string): Promise<void> {
  const owner = process.getuid?.() === 0 ? { uid: 0, gid: 0 } : null;
  const walk = async (path: string): Promise<void> => {
    const info = await lstat(path);
    if (owner !== null) await lchown(path, owner.uid, owner.gid);
    if (info.isSymbolicLink()) return checkLink(root, path, await readlink(path));
    if (info.isDirectory()) {
      // Writable for its owner, whose data directory must stay removable; every mount of it is read-only.
      await chmod(path, 0o755);
      for (const name of await readdir(path)) await walk(join(path, name));
    } else if (info.isFile()) await chmod(path, (info.mode & 0o111) === 0 ? 0o444 : 0o555);
    else throw bad(path, 'is neither a file nor a directory');
  };
  await walk(root);
}

/**
 * Threat: mounted into a run, a link would be followed there; it must not be a way around what is mounted. A `..` behind a name leads
 * elsewhere than it reads where the name is a link.
 */
function checkLink(root: string, path: string, target: string): void {
  const from = posix.relative(root, dirname(path));
  const inner = posix.normalize(posix.join(from, target));
  const names = target.split('/').filter(name => name !== '' && name !== '.');
  const turnsBack = names.some((name, at) => name === '..' && at > 0 && names[at - 1] !== '..');
  if (posix.isAbsolute(target) || inner === '..' || inner.startsWith('../') || turnsBack)
    throw bad(path, `links to ${target}`);
}

function bad(path: string, why: string): SkillboxError {
  return new SkillboxError('DEPENDENCIES_FAILED', `the build made ${posix.basename(path)}, which ${why}`, {
    hint: 'A package of this kind cannot be used.',
  });
}
