import { join } from 'node:path';
import { findPlanted, findPlantedBelow, isSteady, lookAt, openAbove } from './planted.ts';
import type { ProtectionPlan } from './protect.ts';
import { quarantine } from './quarantine.ts';
import type { Planted, RunSpec } from './sandbox.ts';

/** WS-10 where no mount can stand: what was not there is looked for during and after the run, and moved away. */
export type Guard = { planted: Planted[]; during(): Promise<void>; after(): Promise<void> };

export async function guardWorkspaces(
  spec: RunSpec,
  protections: ReadonlyMap<string, ProtectionPlan>,
  quarantineTo: string,
): Promise<Guard> {
  const planted: Planted[] = [];
  const guarded: { root: string; plan: ProtectionPlan; before: Map<string, string> }[] = [];
  for (const mount of spec.mounts) {
    const plan = protections.get(mount.at);
    if (mount.kind !== 'bind' || !mount.writable || plan === undefined) continue;
    guarded.push({ root: mount.source, plan, before: await lookAt(mount.source, plan.absent) });
  }
  const remove = async (root: string, found: readonly string[]) => {
    if (found.length > 0) planted.push(...(await quarantine(root, found, join(quarantineTo, String(planted.length)))));
  };
  const look = async (wanted: (path: string) => boolean) => {
    for (const { root, plan, before } of guarded)
      await remove(root, await findPlanted(root, plan.absent.filter(wanted), before));
  };
  const lookBelow = async () => {
    for (const { root, plan } of guarded) {
      if (!plan.complete) continue; // so it began, and whoever wanted that was told
      const found = await findPlantedBelow(root, plan);
      await remove(root, found.planted);
      // Too much was made to look through: what is not known to be harmless is told.
      if (!found.complete) planted.push({ path: '.', movedTo: null });
    }
  };
  return {
    planted,
    during: () => look(isSteady),
    async after() {
      for (const { root, plan } of guarded) openAbove(root, [...plan.absent, ...plan.rebases]);
      await look(() => true);
      await lookBelow();
    },
  };
}
