import { SkillboxError } from '../base/index.ts';
import { isAlive, type Owner } from '../sandbox/index.ts';
import type { Store } from '../store/index.ts';
import { fail } from './endings.ts';

/** SK-15: runs whose owner is dead were interrupted; those of living processes are left alone. */
export async function sweepRuns(store: Store): Promise<string[]> {
  const open = await store.runs.list({ states: ['preparing', 'running', 'collecting'], limit: 10_000 });
  const swept: string[] = [];
  for (const record of open) {
    const owner = parseOwner(record.owner);
    if (owner !== null && isAlive(owner)) continue;
    fail(record, { kind: 'interrupted' }, 'the process that ran it died');
    record.state = 'failed';
    record.endedAt = Date.now();
    if (await store.runs.update(record)) swept.push(record.id);
  }
  return swept;
}

/** null for what is no owner: such a record has nobody who could still end it. */
function parseOwner(text: string): Owner | null {
  try {
    const owner = JSON.parse(text) as Partial<Owner>;
    return typeof owner.pid === 'number' && typeof owner.bootId === 'string' ? (owner as Owner) : null;
  } catch {
    return null; // not ours, or damaged
  }
}

/** The one run whose id starts with what a person typed. */
export function requireId(ids: readonly string[], given: string): string {
  const [id, second] = ids;
  if (id === undefined)
    throw new SkillboxError('NOT_FOUND', `there is no run "${given}"`, { hint: 'skillbox exec list shows them.' });
  if (second !== undefined)
    throw new SkillboxError('USAGE', `"${given}" is the beginning of several runs`, { hint: 'Give more of the id.' });
  return id;
}
