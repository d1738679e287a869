import { cp, lstat, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { newId, thisOwner } from './owner.ts';
import type { ProcessOptions } from './process.ts';
import { runProcess } from './process-run.ts';
import { resolveProgram } from './runtime.ts';
import type { Enforces, Handle, Outcome, RunSpec, RuntimeUsed } from './sandbox.ts';
import { removeTree } from './state.ts';

/** Lays the files of a run out in a directory of its own, and finds its program. */
export async function prepareProcess(
  spec: RunSpec,
  options: ProcessOptions,
  runs: string,
  held: Enforces,
  forget: (id: string) => void,
): Promise<Handle> {
  const owner = thisOwner();
  const id = newId(owner);
  const directory = join(runs, id);
  const places = new Map<string, string>();
  try {
    await layOut(spec, directory, places);
  } catch (error) {
    await removeTree(directory);
    throw error;
  }
  const rewrite = rewriter(places);
  const [name = '', ...args] = spec.argv;
  let program: { real: string; used: RuntimeUsed };
  try {
    program = name.includes('/')
      ? { real: rewrite(name), used: { name, version: null, from: 'host, not isolated', path: name } }
      : await resolveProgram(name, options.search, options.stateDir);
  } catch (error) {
    await removeTree(directory);
    throw error;
  }
  const env = Object.fromEntries(Object.entries(spec.env).map(([key, value]) => [key, rewrite(value)]));
  env.PATH = [dirname(program.real), spec.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(':');
  const outs = spec.mounts.filter(mount => mount.kind === 'out').map(mount => places.get(mount.at) ?? '');
  let state: 'ready' | 'started' | 'disposed' = 'ready';
  let kill = () => {};
  let running: Promise<unknown> = Promise.resolve();
  return {
    id,
    owner,
    async start(io) {
      if (state !== 'ready') throw new SkillboxError('INTERNAL', `The run ${id} was started twice, or after its end.`);
      state = 'started';
      const started = runProcess({
        spec,
        io,
        directory,
        outs,
        argv: [program.real, ...args.map(rewrite)],
        cwd: rewrite(spec.cwd),
        env,
      });
      kill = started.kill;
      running = started.finished.catch(() => undefined); // told to whoever started it
      const { end, streams, durationMs, usage } = await started.finished;
      const used = { ...program.used, from: 'host, not isolated' };
      return { end, ...streams, durationMs, usage, runtime: used, held, planted: [] } satisfies Outcome;
    },
    async kill() {
      kill();
      await running;
    },
    path(at) {
      const path = places.get(at);
      if (path === undefined) throw new SkillboxError('INTERNAL', `Nothing of the run lies at ${at}.`);
      return path;
    },
    async dispose() {
      if (state === 'disposed') return;
      state = 'disposed';
      kill();
      await running;
      forget(id);
      await removeTree(directory);
    },
  };
}

async function layOut({ mounts }: RunSpec, directory: string, places: Map<string, string>): Promise<void> {
  await mkdir(join(directory, 'root'), { recursive: true, mode: 0o700 });
  for (const mount of mounts) {
    const at = join(directory, 'root', mount.at);
    places.set(mount.at, at);
    await mkdir(dirname(at), { recursive: true });
    if (mount.kind === 'bind' && mount.writable) await symlink(mount.source, at);
    // A copy, so that what was meant to be read-only is not changed on the host.
    else if (mount.kind === 'bind')
      await cp(mount.source, at, { recursive: true, verbatimSymlinks: true, filter: canBeCopied });
    else if (mount.kind === 'text') await writeFile(at, mount.text, { mode: 0o400 });
    else {
      await mkdir(at, { recursive: true, mode: 0o700 });
      if (mount.kind === 'out') for (const name of mount.directories) await mkdir(join(at, name));
    }
  }
}

/** Not a pipe, a socket or a device, such as git's own watcher leaves in a repository. */
async function canBeCopied(source: string): Promise<boolean> {
  const info = await lstat(source);
  return info.isFile() || info.isDirectory() || info.isSymbolicLink();
}

/** Replaces a mount's place where a path begins; the longest first. */
export function rewriter(places: ReadonlyMap<string, string>): (text: string) => string {
  const byLength = [...places].sort(([a], [b]) => b.length - a.length);
  if (byLength.length === 0) return text => text;
  const any = byLength.map(([at]) => at.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const pattern = new RegExp(`(^|[\\s=:"'(>;,])(${any})(?=$|[/\\s:"');,])`, 'g');
  return text => text.replace(pattern, (_, before: string, at: string) => `${before}${places.get(at) ?? at}`);
}
