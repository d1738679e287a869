import type { Caller } from '../audit/index.ts';
import type { Blobs, SkillRows } from '../store/index.ts';
import type { Rules } from './accept.ts';
import type { Spool } from './spool.ts';

/** What a registry is made of. Events go with the rows that they tell of. */
export type RegistryParts = Rules & {
  rows: SkillRows;
  blobs: Blobs;
  spool: Spool;
  /** How many bytes the caller's tenant may still store; null: as many as there is room for. */
  room: (caller: Caller) => Promise<number | null>;
};
