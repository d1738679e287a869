import type { Trust } from './policy.ts';
import type { Policies } from './rules.ts';
import type { SkillPlace } from './trust.ts';

/** Whether somebody vouches for a place, and why or why not, in one sentence. */
export type Vouched = { trust: Trust; publisher: string | null; why: string };

/** What a run asks before anybody decides. Both are read anew each time: a rule that was just written counts. */
export interface Judge {
  /** Where the caller stands; null for a server. */
  readonly directory: string | null;
  /** What is in force for a run in this workspace, and for one that was asked for where somebody else stood. */
  policies(...places: (string | null)[]): Policies;
  vouch(place: SkillPlace): Vouched;
}
