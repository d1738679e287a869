import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, opendirSync, readFileSync, realpathSync, rmdirSync, unlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf } from '../base/index.ts';

const run = promisify(execFile);

/** The path without links, though its end may not exist yet: the helper refuses to walk through one. */
export function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    // A file on the way, or a directory of somebody else's, is told by whoever wants to write there.
    if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error) ?? '') || dirname(path) === path) throw error;
    return join(realPathOf(dirname(path)), basename(path));
  }
}

export async function makePrivate(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Removes a tree that a hostile program made: no links are followed, nothing is too deep. */
export async function removeTree(path: string): Promise<void> {
  if (removeSmall(path)) return;
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!['EACCES', 'EPERM', 'ENAMETOOLONG', 'ENOTEMPTY', 'EBUSY'].includes(errnoOf(error) ?? '')) throw error;
    // Directories without permissions for their owner, or a path longer than one call takes.
    await run('/usr/bin/chmod', ['-R', 'u+rwx', '--', path]).catch(() => undefined); // rm says what is left
    await run('/usr/bin/rm', ['-rf', '--', path]);
  }
}

/** What most runs leave is gone sooner than a thread of the pool would hear of it. More than this would keep others waiting. */
const SMALL = { entries: 32, bytes: 1024 ** 2 };

/** False: not all of it. */
function removeSmall(path: string): boolean {
  const left = { ...SMALL };
  const remove = (at: string): boolean => {
    const info = lstatSync(at);
    left.entries--;
    left.bytes -= info.blocks * 512;
    if (left.entries < 0 || left.bytes < 0) return false;
    if (!info.isDirectory()) unlinkSync(at);
    else {
      if (!namesIn(at, left.entries).every(name => remove(join(at, name)))) return false;
      rmdirSync(at);
    }
    return true;
  };
  try {
    return remove(path);
  } catch {
    return false; // it is not there, or there is more to it
  }
}

/** The first of them: there may be millions. */
function namesIn(directory: string, atMost: number): string[] {
  const opened = opendirSync(directory);
  try {
    const names: string[] = [];
    for (let entry = opened.readSync(); entry !== null && names.length < atMost; entry = opened.readSync())
      names.push(entry.name);
    return names;
  } finally {
    opened.closeSync();
  }
}

/**
 * A made-up /etc: the names a program expects, and nothing of the host. `ld.so.cache` and `alternatives` are places for
 * the host's own to be mounted on.
 */
export function etcFiles(uid: number): Record<string, string> {
  return {
    passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\nskill:x:${uid}:${uid}:skill:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
    group: `root:x:0:\nskill:x:${uid}:\nnogroup:x:65534:\n`,
    hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n',
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n',
    'resolv.conf': '',
    services: 'http 80/tcp\nhttps 443/tcp\n',
    protocols: 'ip 0 IP\ntcp 6 TCP\nudp 17 UDP\n',
    shells: '/bin/sh\n/bin/bash\n',
    'ld.so.cache': '',
    // /etc/bash.bashrc and profiles are left out: a non-interactive shell reads none.
  };
}

/** Written once per content, aside and then renamed, so that a run never sees half of it. */
export async function makeEtc(directory: string, uid: number): Promise<string> {
  const files = etcFiles(uid);
  const target = join(
    directory,
    `etc-${createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16)}`,
  );
  if (isWritten(join(target, 'passwd'), files.passwd)) return target;
  const aside = await mkdtemp(join(directory, '.etc-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(aside, name), text, { mode: 0o644 });
  await mkdir(join(aside, 'alternatives'));
  await chmod(aside, 0o755);
  try {
    await rename(aside, target);
  } catch (error) {
    if (errnoOf(error) !== 'ENOTEMPTY' && errnoOf(error) !== 'EEXIST') throw error;
    await rm(aside, { recursive: true }); // another process was first, with the same content
  }
  return target;
}

function isWritten(path: string, text: string | undefined): boolean {
  try {
    return readFileSync(path, 'utf8') === text;
  } catch {
    return false; // not there yet, or not ours to read: it is written, and that says what is wrong
  }
}
