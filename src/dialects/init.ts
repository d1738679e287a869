import { SkillboxError } from '../base/index.ts';
import type { DialectName } from '../skill/index.ts';
import { agentSkillsFiles } from './init/agent-skills.ts';
import { gibberishFiles } from './init/gibberish.ts';
import { seksbotFiles } from './init/seksbot.ts';
import { skillboxFiles } from './init/skillbox.ts';
import { workspaceFiles } from './init/workspace.ts';

/** A new skill: it lints clean, runs where its dialect runs, and shows in small what the dialect can do. */
export type InitFile = { path: string; text: string; executable: boolean };
export type InitWish = { name: string; dialect: DialectName; description: string };

const MAX_NAME = 64;
const VALID_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** All templates count words, so one sentence fits them. */
export const DEFAULT_DESCRIPTION = 'Counts the words of a text. Use when someone asks how long a text is.';
const MAX_DESCRIPTION: Record<DialectName, number> = {
  'agent-skills': 1024,
  skillbox: 1024,
  workspace: 1024,
  gibberish: 256,
  seksbot: 200,
};

export function initFiles(wish: InitWish): InitFile[] {
  checkName(wish.name);
  checkDescription(wish);
  switch (wish.dialect) {
    case 'agent-skills':
      return agentSkillsFiles(wish);
    case 'skillbox':
      return skillboxFiles(wish);
    case 'workspace':
      return workspaceFiles(wish);
    case 'gibberish':
      return gibberishFiles(wish);
    case 'seksbot':
      return seksbotFiles(wish);
  }
}

/** One name that every dialect accepts. */
export function checkName(name: string): void {
  if (VALID_NAME.test(name) && name.length <= MAX_NAME) return;
  const meant = toKebab(name);
  throw new SkillboxError('USAGE', `${JSON.stringify(name)} is not a skill name`, {
    hint: `A name has up to ${MAX_NAME} lowercase letters, digits and single hyphens${meant === '' ? '' : `; try ${meant}`}.`,
  });
}

function toKebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME)
    .replace(/^-+|-+$/g, '');
}

function checkDescription({ description, dialect }: InitWish): void {
  const max = MAX_DESCRIPTION[dialect];
  const length = Array.from(description.trim()).length;
  if (length >= 1 && length <= max) return;
  throw new SkillboxError('USAGE', `the description has ${length} characters; ${dialect} allows 1 to ${max}`, {
    hint: 'Say in a sentence or two what the skill does and when to use it.',
  });
}
