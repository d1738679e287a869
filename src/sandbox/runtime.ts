import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { lstat, mkdir, readdir, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { Outcome, RunSpec, RuntimeSpec, RuntimeUsed } from './sandbox.ts';

const run = promisify(execFile);

/** A program of the host as a run sees it: its path inside, and what must be mounted for it beside /usr. */
export type HostProgram = {
  used: RuntimeUsed /** On the host itself. */;
  real: string;
  mounts: readonly { source: string; at: string }[];
  bin: string | null;
};

const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];
const RUNTIMES = '/opt/skillbox';

/** Asked of the interpreter itself, because a shim (pyenv, asdf) is a script that stands for another file. */
const QUESTIONS: Record<
  string,
  { args: string[]; parse: (line: string) => { version: string; executable: string; prefix: string | null } }
> = {
  python: {
    args: [
      '-I',
      '-S',
      '-c',
      'import sys,json;print(json.dumps([sys.version.split()[0],sys.executable,sys.base_prefix]))',
    ],
    parse: line => {
      const [version, executable, prefix] = JSON.parse(line) as [string, string, string];
      return { version, executable, prefix };
    },
  },
  node: {
    args: ['-p', 'JSON.stringify([process.versions.node,process.execPath])'],
    parse: line => {
      const [version, executable] = JSON.parse(line) as [string, string];
      return { version, executable, prefix: null };
    },
  },
  bash: {
    args: ['--norc', '-c', 'echo "$BASH_VERSION $BASH"'],
    parse: line => {
      const [version = '', executable = ''] = line.split(' ');
      return { version: version.replace(/\(.*/, ''), executable, prefix: null };
    },
  },
};

const known = new Map<string, Promise<HostProgram>>();

/**
 * Resolves a program's name once per process. `search` are directories of the operator's choice that come before the
 * system's; the caller's PATH is not looked at, because a workspace may have put something on it. `notes` is a
 * directory of ours where answers are kept: asking Python for its version costs as much as a run.
 */
export function resolveProgram(name: string, search: readonly string[], notes: string): Promise<HostProgram> {
  const key = JSON.stringify([name, search, notes]);
  let found = known.get(key);
  if (found === undefined) {
    found = resolve(name, search, notes);
    known.set(key, found);
    // A failure may be cured by installing the program: ask again next time.
    found.catch(() => known.delete(key));
  }
  return found;
}

async function resolve(name: string, search: readonly string[], notes: string): Promise<HostProgram> {
  const candidates = [...search, ...SYSTEM_PATH].map(directory => join(directory, name));
  for (const candidate of candidates) {
    // Synchronous, here and below: once per process, a few calls, where each trip to the thread pool costs more than all of them.
    if (!isProgram(candidate)) continue;
    const question = QUESTIONS[kindOf(name)];
    if (question === undefined) return place(name, null, realpathSync.native(candidate), null);
    const answer = await askOnce(candidate, question, notes);
    if (answer !== null) return place(name, answer.version, realpathSync.native(answer.executable), answer.prefix);
  }
  throw new SkillboxError('RUNTIME_MISSING', `There is no ${name} on this host.`, {
    details: { searched: candidates },
  });
}

function kindOf(name: string): string {
  if (/^python(\d(\.\d+)?)?$/.test(name)) return 'python';
  return name === 'node' || name === 'bash' ? name : '';
}

type Question = (typeof QUESTIONS)[string] & object;
type Answer = ReturnType<Question['parse']>;

/** The answer of the very same file is kept; a shim's never, since it depends on more than the shim. */
async function askOnce(program: string, question: Question, notes: string): Promise<Answer | null> {
  const real = realpathSync.native(program);
  const { ino, size, mtimeMs, ctimeMs } = statSync(real);
  const key = createHash('sha256')
    .update(JSON.stringify([real, ino, size, mtimeMs, ctimeMs, question.args]))
    .digest('hex');
  const note = join(notes, `runtime-${key.slice(0, 32)}.json`);
  try {
    return JSON.parse(readFileSync(note, 'utf8')) as Answer;
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && !(error instanceof SyntaxError)) throw error;
  }
  const answer = await ask(program, question);
  if (answer === null || (await realpath(answer.executable)) !== real) return answer;
  await mkdir(notes, { recursive: true, mode: 0o700 });
  const aside = `${note}.${process.pid}`;
  await writeFile(aside, JSON.stringify(answer), { mode: 0o600 });
  await rename(aside, note);
  return answer;
}

async function ask(program: string, { args, parse }: Question): Promise<Answer | null> {
  try {
    const { stdout } = await run(program, args, {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/' },
      timeout: 10_000,
    });
    return parse(stdout.trim());
  } catch {
    return null; // a shim without a version behind it, or a broken install: the next directory may have a good one
  }
}

function isProgram(path: string): boolean {
  try {
    // Asked first: most places have none, and an error is dear to make.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // not for us
  }
}

function place(name: string, version: string | null, real: string, base: string | null): HostProgram {
  const used = (path: string): RuntimeUsed => ({ name, version, from: 'host', path });
  if (real.startsWith('/usr/')) return { used: used(real), real, mounts: [], bin: null };
  const prefix = base === null ? null : realpathSync.native(base);
  if (prefix !== null && real.startsWith(`${prefix}/`)) {
    const bin = dirname(real);
    const own = [...new Set([real, join(bin, basename(name))])].map(at => ({ source: real, at }));
    const parts = partsOf(prefix, version ?? '').map(at => ({ source: at, at }));
    return { used: used(real), real, mounts: [...own, ...parts], bin };
  }
  // A lone binary comes alone, without its neighbours; node is always one.
  const inside = join(RUNTIMES, name, 'bin', basename(name));
  return { used: used(inside), real, mounts: [{ source: real, at: inside }], bin: dirname(inside) };
}

/**
 * What a Python needs of the place that it was installed to, at the same paths: a shared libpython is found by the path it was
 * built for, and elsewhere the system's would be loaded in its place. Threat: that place may be somebody's ~/.local, or their
 * home, where secrets lie beside it.
 */
function partsOf(prefix: string, version: string): string[] {
  const folders = ['lib', 'lib64'].map(name => join(prefix, name)).filter(isFolder);
  const [, minor] = /^(\d+\.\d+)\./.exec(version) ?? [];
  const standard = folders.map(folder => join(folder, `python${minor}`)).filter(isFolder);
  // Conda and the like have libraries of their own, which are as many as a system's.
  if (standard.length === 0 || existsSync(join(prefix, 'conda-meta'))) return folders;
  const shared = folders.flatMap(folder =>
    readdirSync(folder)
      .filter(name => /^libpython[\w.]*\.so/.test(name))
      .map(name => join(folder, name))
      .filter(path => lstatSync(path).isFile()),
  );
  return [...standard, ...shared];
}

/** Not a link: on many systems lib64 is one to lib. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** What stands at the root of a host or an image, to be rebuilt on an empty one. */
export type RootEntry =
  | { kind: 'directory' | 'file'; source: string; at: string }
  | { kind: 'link'; target: string; at: string };

const HOST_ROOT = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

let hostEntries: RootEntry[] | null = null;

/** The host's /usr, and the directories that some systems keep beside it. Looked at once. */
export function hostRoot(): RootEntry[] {
  hostEntries ??= readHostRoot();
  return hostEntries;
}

function readHostRoot(): RootEntry[] {
  const entries: RootEntry[] = [{ kind: 'directory', source: realpathSync('/usr'), at: '/usr' }];
  for (const at of HOST_ROOT) {
    if (!existsSync(at)) continue;
    let target: string | null = null;
    try {
      target = readlinkSync(at);
    } catch (error) {
      if (errnoOf(error) !== 'EINVAL') throw error;
    }
    entries.push(target === null ? { kind: 'directory', source: at, at } : { kind: 'link', target, at });
  }
  return entries;
}

const OURS = new Set(['proc', 'sys', 'dev', 'tmp', 'run', 'root', 'home', 'sandbox', 'mnt', 'media', '.skillbox']);

/** Every place that the run's own mounts take. */
export function placesOf({ mounts, network }: Pick<RunSpec, 'mounts' | 'network'>): string[] {
  return [...mounts.map(mount => mount.at), ...(network.kind === 'egress' ? [network.at] : [])];
}

/** A name can be given to another image tomorrow; the digest says which one it was. */
export function imageUsed({ name, digest }: Extract<RuntimeSpec, { kind: 'image' }>): string {
  return `${name}@sha256:${digest.slice(0, 12)}`;
}

/**
 * In an image only the helper looks for a program, when the run has begun. What it says where there is none is all that the run
 * prints; a program that prints the same, and ends the same way, has made up a fault of its own.
 */
export function refuseLacking({ argv, runtime }: RunSpec, { end, stdout, stderr }: Ended, image: string): void {
  const [name = ''] = argv;
  if (name.includes('/') || end.kind !== 'exited' || end.code !== 127 || stdout.bytes > 0) return;
  if (stderr.text.toString('utf8') !== `skillbox: cannot start ${name}: No such file or directory\n`) return;
  throw new SkillboxError('RUNTIME_MISSING', `The image ${image} has no ${name} where programs usually are.`, {
    hint:
      runtime.kind === 'image'
        ? 'Use an image that has it in /usr/bin, /usr/local/bin or the like.'
        : "It stands in for this machine's programs: name another with SKILLBOX_DOCKER_IMAGE, or have the skill name an image that has it.",
    details: { image, program: name },
  });
}

type Ended = Pick<Outcome, 'end' | 'stdout' | 'stderr'>;

/** What of an image's root is not there in a run: the names that the sandbox and the run's own mounts take. */
export function leftOutOf(mounts: readonly string[]): Set<string> {
  return new Set([...OURS, ...mounts.map(at => at.split('/')[1] ?? '')]);
}

/**
 * An image's own root, without what the sandbox puts in its place. `mounts` are the places of the run's own: a link of that
 * name in the image would lead the mount elsewhere, and in a directory of it, read-only, no mount point could be made.
 */
export async function imageRoot(name: string, given: string, mounts: readonly string[]): Promise<RootEntry[]> {
  const taken = leftOutOf(mounts);
  let root = given;
  let names: string[];
  try {
    root = await realpath(root);
    names = (await readdir(root)).sort();
  } catch (error) {
    throw new SkillboxError('IMAGE_MISSING', `The image ${name} is not at ${root}.`, { cause: error });
  }
  const entries: RootEntry[] = [];
  for (const entry of names) {
    if (taken.has(entry)) continue;
    const source = join(root, entry);
    const info = await lstat(source);
    if (info.isSymbolicLink()) entries.push({ kind: 'link', target: readlinkSync(source), at: `/${entry}` });
    else if (info.isDirectory()) entries.push({ kind: 'directory', source, at: `/${entry}` });
    else if (info.isFile()) entries.push({ kind: 'file', source, at: `/${entry}` });
  }
  return entries;
}
