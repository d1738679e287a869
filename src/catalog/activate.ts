import { createHash } from 'node:crypto';
import { estimateTokens, SkillboxError } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import { serverOf } from '../policy/index.ts';
import type { DialectName, Folder, Resource, Skill } from '../skill/index.ts';
import { cleanLine, cleanText } from './clean.ts';
import { escapeXml, escapeXmlText } from './escape.ts';
import type { CountTokens } from './tokens.ts';

export type ActivateOptions = {
  /** SB-11: how many tokens of references go in with the instructions. */
  referenceTokens: number;
  /** How many of the bundled files are listed. */
  maxFiles: number;
  count: CountTokens;
};

export const ACTIVATE_OPTIONS: ActivateOptions = { referenceTokens: 2000, maxFiles: 100, count: estimateTokens };

/** What a model reads of a skill once it has chosen it (AS-11). */
export type Activation = {
  name: string;
  dialect: DialectName;
  directory: string;
  /** The MCP server that it came from; null for one that came otherwise. */
  server: string | null;
  /** The body of SKILL.md without its frontmatter, without hidden characters, unable to end its element. */
  instructions: string;
  references: readonly { path: string; text: string }[];
  /** Bundled files that were not put in, none of them read; `filesLeftOut` more are not listed. */
  files: readonly { path: string; size: number }[];
  filesLeftOut: number;
  /** Hidden characters that were removed, and tags of ours that were made harmless. */
  removedCharacters: number;
  defusedTags: number;
  tokens: number;
  /** Everything as the `<skill_content>` element. */
  text: string;
  /** SHA-256 of the text: the same content says so (a session need not repeat it). */
  fingerprint: string;
};

/** Reads a skill and gives what a model should see of it. A skill that does not load is an error that says why. */
export function activateSkill(folder: Folder, partial: Partial<ActivateOptions> = {}): Activation {
  const options = { ...ACTIVATE_OPTIONS, ...partial };
  const { skill, diagnostics } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill === null) {
    const first = diagnostics.find(({ severity }) => severity === 'error');
    throw new SkillboxError('INVALID_SKILL', `the skill does not load: ${first?.message ?? 'it cannot be read'}`, {
      details: { diagnostics: diagnostics.map(({ fix: _fix, ...rest }) => rest) },
    });
  }
  const body = defuse(skill.instructions);
  const injected = injectReferences(folder, skill, options);
  const bundled = [...skill.scripts, ...skill.resources]
    .filter(({ path }) => !injected.some(reference => reference.path === path))
    .map(({ path, size }) => ({ path, size }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const parts = {
    name: cleanLine(skill.name),
    dialect: skill.dialect,
    directory: folder.origin.path,
    server: folder.origin.kind === 'directory' ? serverOf(folder.origin.path) : null,
    instructions: body.text,
    references: injected.map(({ path, text }) => ({ path, text })),
    files: bundled.slice(0, options.maxFiles),
    filesLeftOut: Math.max(0, bundled.length - options.maxFiles),
    removedCharacters: sum([body, ...injected], part => part.removed),
    defusedTags: sum([body, ...injected], part => part.defused),
  };
  const text = renderActivation(parts);
  const fingerprint = createHash('sha256').update(text).digest('hex');
  return { ...parts, text, tokens: options.count(text), fingerprint };
}

type Defused = { text: string; removed: number; defused: number };

// Only our own tags are touched: escaping all of Markdown would spoil every example of HTML, of code and of shell.
const OWN_TAG = /<(?=\s*\/?\s*skill_(?:content|resources|reference)\b)/gi;

/** Text of a skill that cannot end the element around it, nor open a second one, however it is spelled. */
function defuse(raw: string): Defused {
  const { text, removed } = cleanText(raw);
  let defused = 0;
  const safe = text.replace(OWN_TAG, () => {
    defused++;
    return '&lt;';
  });
  return { text: safe, removed, defused };
}

/** SB-11: in the order of their paths, each while it fits. WS-08: in other dialects references are read on demand. */
function injectReferences(
  folder: Folder,
  skill: Skill,
  { referenceTokens, count }: ActivateOptions,
): (Defused & { path: string })[] {
  if (skill.dialect !== 'skillbox') return [];
  let left = referenceTokens;
  const injected: (Defused & { path: string })[] = [];
  for (const { path, size } of skill.resources.filter(isReference)) {
    // A character has at most four bytes and a token about four characters: what is larger is not even read.
    if (size > left * 16) continue;
    const bytes = folder.read(path, size);
    const raw = bytes.toString('utf8');
    if (bytes.includes(0) || raw.includes('\ufffd')) continue;
    const part = defuse(raw);
    const cost = count(part.text);
    if (cost > left) continue;
    left -= cost;
    injected.push({ ...part, path });
  }
  return injected;
}

function isReference({ kind }: Resource): boolean {
  return kind === 'reference';
}

function renderActivation(parts: Omit<Activation, 'text' | 'tokens' | 'fingerprint'>): string {
  const { name, directory, server, instructions, references, files, filesLeftOut } = parts;
  const blocks = [
    instructions.trim(),
    ...references.map(({ path, text }) => {
      return `<skill_reference path="${escapeXml(cleanLine(path))}">\n${text.trim()}\n</skill_reference>`;
    }),
    `Skill directory: ${escapeXmlText(cleanLine(directory))}\nPaths in this skill are relative to it.`,
  ];
  if (files.length > 0) {
    const lines = files.map(({ path }) => `  <file>${escapeXmlText(cleanLine(path))}</file>\n`);
    const more = filesLeftOut === 0 ? '' : `  <!-- ${filesLeftOut} more are not listed. -->\n`;
    blocks.push(`<skill_resources>\n${lines.join('')}${more}</skill_resources>`);
  }
  const content = blocks.filter(block => block !== '').join('\n\n');
  // SEP-2640: a model is told of the server, and cannot take the skill for one of the user's own.
  const origin = server === null ? '' : ` origin="${escapeXml(cleanLine(server))}"`;
  return `<skill_content name="${escapeXml(name)}"${origin}>\n${content}\n</skill_content>\n`;
}

function sum(parts: readonly Defused[], of: (part: Defused) => number): number {
  return parts.reduce((total, part) => total + of(part), 0);
}
