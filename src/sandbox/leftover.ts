import { SkillboxError } from '../base/index.ts';
import { isAlive } from './owner.ts';
import type { Handle, Owner } from './sandbox.ts';

/** A run of another process: nothing can be done with it but to clear up after it, once that process is dead. */
export function leftoverHandle(id: string, owner: Owner, remove: () => Promise<void>): Handle {
  const refuse = (): never => {
    throw new SkillboxError('INTERNAL', `The run ${id} belongs to another process.`);
  };
  return {
    id,
    owner,
    start: async () => refuse(),
    kill: async () => refuse(),
    path: refuse,
    dispose: async () => (isAlive(owner) ? refuse() : remove()),
  };
}
