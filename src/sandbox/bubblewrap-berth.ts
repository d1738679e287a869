import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Workings } from './bubblewrap.ts';
import type { Standing } from './bubblewrap-check.ts';
import type { Cgroup } from './cgroup.ts';
import { type Launcher, startLauncherWhile } from './launcher.ts';
import { newId, thisOwner } from './owner.ts';
import { removeTree } from './state.ts';
import { takeUid } from './uids.ts';

/** A host on which runs can be made. */
export type Usable = Standing & { tools: NonNullable<Standing['tools']> };

/**
 * A place for one run: its name, directory, uid, cgroup, and the launcher that waits in it. It knows nothing of the run
 * to come and has held none before, so one may be kept ready: joining a cgroup makes the kernel wait up to 20 ms.
 */
export type Berth = {
  id: string;
  directory: string;
  uid: number | null;
  cgroup: Cgroup | null;
  launcher: Launcher;
  /** Steps that `dispose` takes after the processes are dead and before the directory goes. */
  before: (() => Promise<unknown>)[];
  dispose(): Promise<void>;
};

/** What there is of a berth before its launcher stands. */
export type Place = Pick<Berth, 'directory' | 'uid' | 'cgroup' | 'before'>;

/** `meanwhile` is done while the kernel is waited for. */
export async function makeBerth<T>(
  found: Usable,
  options: Workings,
  meanwhile: (place: Place) => Promise<T>,
): Promise<{ berth: Berth; done: T }> {
  const id = newId(thisOwner());
  const directory = join(options.stateDir, 'runs', id);
  const undo: (() => Promise<unknown>)[] = [];
  const before: (() => Promise<unknown>)[] = [];
  const dispose = async () => {
    const faults: unknown[] = [];
    // Emptied as it goes: a second call finds nothing to do.
    for (let step = undo.pop(); step !== undefined; step = undo.pop())
      await step().catch((error: unknown) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  };
  try {
    let uid: number | null = null;
    let cgroup: Cgroup | null = null;
    const { launcher, done } = await startLauncherWhile(
      options.keeperOf(found.tools.helper),
      async () => {
        mkdirSync(directory, { mode: 0o700 });
        undo.push(() => removeTree(directory));
        if (process.getuid?.() === 0) {
          const taken = takeUid(options.uids);
          uid = taken.uid;
          undo.push(async () => taken.release());
        }
        const made = found.cgroups === null ? null : await options.cgroupFor(found.cgroups, id);
        cgroup = made;
        if (made !== null) undo.push(() => made.remove());
        undo.push(async () => {
          for (const step of before) await step();
        });
        return [...(uid === null ? [] : ['ids', uid, uid]), ...(made?.procs.flatMap(path => ['join', path]) ?? [])];
      },
      () => meanwhile({ directory, uid, cgroup, before }),
    );
    undo.push(async () => {
      launcher.idle(false);
      await launcher.end();
    });
    return { berth: { id, directory, uid, cgroup, launcher, before, dispose }, done };
  } catch (error) {
    await dispose().catch(() => undefined); // the first fault is the one to tell
    throw error;
  }
}
