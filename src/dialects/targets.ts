import type { Findings, Place, Skill } from '../skill/index.ts';
import type { Fields } from './frontmatter.ts';

export const TARGETS = ['spec', 'claude', 'codex', 'gemini', 'vscode'] as const;
export type Target = (typeof TARGETS)[number];

export type TargetContext = {
  folderName: string | null;
  documentPath: string;
  fields: Fields | null;
  skill: Skill | null;
  place: (key: string) => Place;
};

/** Adds what the named client requires beyond the format. */
export function checkTarget(_target: Target, _context: TargetContext, _findings: Findings): void {}
