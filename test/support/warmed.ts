import { existsSync } from 'node:fs';
import type { Bubblewrap, RunSpec, Sandbox } from '../../src/sandbox/index.ts';

const hitsOf = (sandbox: Bubblewrap) => sandbox.warmth().keys.reduce((sum, { hits }) => sum + hits, 0);

/** Everything that the pool can serve is served by it, or the test fails; the rest is what `servesCold` says. */
export function alwaysWarm(sandbox: Bubblewrap): Sandbox {
  let turn: Promise<unknown> = Promise.resolve();
  const prepare = async (spec: RunSpec) => {
    const heated = await sandbox.preheat(spec);
    if (!heated && !servesCold(spec)) throw new Error(`the pool refuses ${JSON.stringify(spec)}`);
    const before = hitsOf(sandbox);
    const handle = await sandbox.prepare(spec);
    if (heated && hitsOf(sandbox) !== before + 1) {
      await handle.dispose();
      throw new Error('the run did not go through the pool');
    }
    return handle;
  };
  return {
    ...sandbox,
    // One after the other: what was heated for one must not be taken by the next.
    prepare(spec) {
      const next = turn.then(() => prepare(spec));
      turn = next.catch(() => undefined);
      return next;
    },
  };
}

function servesCold({ argv, mounts, runtime }: RunSpec): boolean {
  return (
    (runtime.kind === 'image' && !existsSync(runtime.root)) ||
    argv[0]?.startsWith('no-such-') === true ||
    mounts.some(
      mount =>
        (mount.kind === 'bind' && (mount.writable || mount.protect !== null)) ||
        (mount.kind !== 'tmpfs' && mounts.some(other => other !== mount && mount.at.startsWith(`${other.at}/`))),
    )
  );
}
