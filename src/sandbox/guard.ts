import { join } from 'node:path';
import { findPlanted, isSteady, lookAt, type ProtectionPlan, quarantine } from './protect.ts';
import type { Planted, RunSpec } from './sandbox.ts';

/** WS-10 where no mount can stand: what was not there is looked for during and after the run, and moved away. */
export type Guard = { planted: Planted[]; during(): Promise<void>; after(): Promise<void> };

export async function guardWorkspaces(
  spec: RunSpec,
  protections: ReadonlyMap<string, ProtectionPlan>,
  quarantineTo: string,
): Promise<Guard> {
  const planted: Planted[] = [];
  const guarded: { root: string; absent: string[]; before: Map<string, string> }[] = [];
  for (const mount of spec.mounts) {
    const plan = protections.get(mount.at);
    if (mount.kind !== 'bind' || !mount.writable || plan === undefined) continue;
    guarded.push({ root: mount.source, absent: plan.absent, before: await lookAt(mount.source, plan.absent) });
  }
  const look = async (wanted: (path: string) => boolean) => {
    for (const { root, absent, before } of guarded) {
      const found = await findPlanted(root, absent.filter(wanted), before);
      if (found.length > 0)
        planted.push(...(await quarantine(root, found, join(quarantineTo, String(planted.length)))));
    }
  };
  return { planted, during: () => look(isSteady), after: () => look(() => true) };
}
