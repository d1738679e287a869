import type { JsonValue } from '../../base/index.ts';
import type { Skill } from '../../skill/index.ts';

/** A file of the result: written anew, or copied from the source as it is. */
export type ConvertedFile =
  | { path: string; executable: boolean; source: 'text'; text: string }
  | { path: string; executable: boolean; source: 'copy'; from: string };

/** One field that reads differently in the result. */
export type Loss = {
  field: string;
  /** What the source had; null where it had nothing and the target puts something in. */
  value: JsonValue;
  why: string;
  /** The field of the result where it is still written down, though nothing acts on it there. */
  kept: string | null;
};

export type Conversion = {
  files: ConvertedFile[];
  losses: Loss[];
  /** The result as the one reader reads it. */
  skill: Skill;
};

/**
 * What a writer knows about a field that it moved, cut or made up; `why` is null where the usual reason holds. Whether
 * it is a loss, reading the result decides.
 */
export type Notes = Map<string, { why: string | null; kept: string | null }>;
