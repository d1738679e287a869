import type { DialectName, Folder, Offer } from '../skill/index.ts';
import { type Fields, readFrontmatter, textOf } from './frontmatter.ts';
import { mayHaveToolSection } from './gibberish/tools.ts';
import { GIBBERISH_KEYS } from './gibberish.ts';
import { baseSkill } from './model.ts';
import { readPlainHead } from './plain-head.ts';
import { readSkill } from './read.ts';
import { ENTRYPOINTS, skillboxKey } from './skillbox.ts';
import { workspaceKey } from './workspace.ts';

/** What discovery keeps of a skill: enough to list it, and to say to whom. */
export type Summary = { dialect: DialectName; name: string; description: string; offer: Offer };

/** Why a skill does not load: the first error that its reading found. */
export type SummaryFault = { code: string; message: string; file: string; line: number };

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_NAME = 64;
// A field that changes what loading gives beyond name and description: the whole reader decides.
const SLOW_FIELDS = [...GIBBERISH_KEYS, 'disable-model-invocation', 'user-invocable'];
const TOOL_HEADING = Buffer.from('####');
const PLAIN_OFFER: Offer = Object.freeze(baseSkill('agent-skills', '', '', '').offer);

/**
 * The summary of a plain SKILL.md without reading its folder; null wherever the whole reader might see more than this, so
 * that the two never disagree. `hasEntrypoint` is asked only when that decides the dialect; null: it is not sure.
 */
export function quickSummary(bytes: Buffer, hasEntrypoint: () => boolean | null): Summary | null {
  return plainSummary(bytes) ?? usualSummary(bytes, hasEntrypoint);
}

/** Of a file whose head is known to be plain, and which has no tools. */
export function plainHeadSummary(name: string, description: string): Summary {
  return { dialect: 'agent-skills', name, description, offer: PLAIN_OFFER };
}

/** The same, of a file that is plain enough not to need the reader of frontmatter at all. */
export function plainSummary(bytes: Buffer): Summary | null {
  const head = readPlainHead(bytes);
  if (head === null || head.name.length > MAX_NAME || !KEBAB.test(head.name) || mayHaveTools(bytes)) return null;
  return plainHeadSummary(head.name, head.description);
}

/** Only a search in the bytes: most bodies are never decoded. */
function mayHaveTools(bytes: Buffer): boolean {
  return bytes.includes(TOOL_HEADING) && mayHaveToolSection(bytes.toString('utf8'));
}

function usualSummary(bytes: Buffer, hasEntrypoint: () => boolean | null): Summary | null {
  const text = headText(bytes);
  if (text === null) return null;
  const { fields, problems } = readFrontmatter(text);
  if (fields === null || problems.length > 0 || SLOW_FIELDS.some(key => fields.has(key))) return null;
  const name = plainText(fields, 'name', text);
  const description = plainText(fields, 'description', text);
  if (name === null || description === null || name.length > MAX_NAME || !KEBAB.test(name)) return null;
  if (mayHaveTools(bytes)) return null;
  // SB-01: with a version, an entrypoint makes it a skillbox skill.
  const own = skillboxKey(fields) !== null || (fields.has('version') && hasEntrypoint());
  if (own === null) return null;
  const dialect = own ? 'skillbox' : workspaceKey(fields) !== null ? 'workspace' : 'agent-skills';
  return { dialect, name, description, offer: PLAIN_OFFER };
}

/** From the opening line to the closing one, both written as the format wants them; null for everything else. */
function headText(bytes: Buffer): string | null {
  if (bytes.indexOf('---\n') !== 0) return null;
  const close = bytes.indexOf('\n---\n', 3);
  return close === -1 ? null : bytes.toString('utf8', 0, close + 5);
}

function plainText(fields: Fields, key: string, source: string): string | null {
  const field = fields.get(key);
  const { text, guessed } = field === undefined ? { text: null, guessed: false } : textOf(field, source);
  return guessed || text?.includes('\ufffd') ? null : text;
}

/** The summary by the one reader, lenient as discovery is. */
export function summarise(folder: Folder): { summary: Summary } | { fault: SummaryFault } {
  const { skill, diagnostics } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill !== null) {
    const { dialect, name, description, offer } = skill;
    return { summary: { dialect, name, description, offer } };
  }
  const first = diagnostics.find(({ severity }) => severity === 'error') ?? diagnostics[0];
  const { code, message, file, line } = first ?? { code: 'skill-md-missing', message: 'no skill', file: '', line: 1 };
  return { fault: { code, message, file, line } };
}

/** Whether a file of this name is what a skill with a version runs (SB-01). */
export function isEntrypointName(name: string): boolean {
  return ENTRYPOINTS.includes(name);
}
