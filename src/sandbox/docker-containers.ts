import { join } from 'node:path';
import type { Engine } from './docker-api.ts';
import { isMissing } from './docker-engine.ts';
import { removeTree } from './state.ts';

/** What a container of ours bears: the id of its run, which says whose it is. */
export const LABEL = 'dev.skillbox.run';

export type Found = { id: string; container: string };

/** Ours, of whatever process. */
export async function findContainers(engine: Engine): Promise<Found[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [LABEL] }));
  const found = await engine.call<{ Id: string; Labels: Record<string, string> }[]>(
    'GET',
    `/containers/json?all=1&filters=${filters}`,
  );
  return found.map(({ Id, Labels }) => ({ id: Labels[LABEL] ?? '', container: Id }));
}

export async function deleteContainer(engine: Engine, container: string): Promise<void> {
  try {
    await engine.call('DELETE', `/containers/${container}?force=1&v=1`);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** With what its run had on the host. */
export async function removeRun(engine: Engine, stateDir: string, { id, container }: Found): Promise<void> {
  await deleteContainer(engine, container);
  await removeTree(join(stateDir, 'containers', id));
}
