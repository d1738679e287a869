import type { Caller } from '../audit/index.ts';
import type { Blobs, SkillRows } from '../store/index.ts';
import type { Rules } from './accept.ts';
import type { Spool } from './spool.ts';

/** What a registry is made of. Events go with the rows that they tell of. */
export type RegistryParts = Rules & {
  rows: SkillRows;
  blobs: Blobs;
  spool: Spool;
  /** Keeps room for so many bytes of the caller's tenant, or throws QUOTA_EXCEEDED. What it gives ends that, kept or not. */
  hold: (caller: Caller, bytes: number) => Promise<(isKept: boolean) => void>;
};
