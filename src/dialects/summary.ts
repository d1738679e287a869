import type { DialectName, Folder, Offer } from '../skill/index.ts';
import { textOf } from './frontmatter.ts';
import { mayHaveToolSection } from './gibberish/tools.ts';
import { GIBBERISH_KEYS } from './gibberish.ts';
import { baseSkill } from './model.ts';
import { readSkill } from './read.ts';
import { ENTRYPOINTS, skillboxKey } from './skillbox.ts';
import { decode, parseDocument } from './source.ts';
import { workspaceKey } from './workspace.ts';

/** What discovery keeps of a skill: enough to list it, and to say to whom. */
export type Summary = { dialect: DialectName; name: string; description: string; offer: Offer };

/** Why a skill does not load: the first error that its reading found. */
export type SummaryFault = { code: string; message: string; file: string; line: number };

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_NAME = 64;
// A field that changes what loading gives beyond name and description: the whole reader decides.
const SLOW_FIELDS = [...GIBBERISH_KEYS, 'disable-model-invocation', 'user-invocable'];
const PLAIN_OFFER: Offer = Object.freeze(baseSkill('agent-skills', '', '', '').offer);

/**
 * The summary of a plain SKILL.md without reading its folder; null wherever the whole reader might see more than this, so
 * that the two never disagree. `mayRun` says whether a file is called like an entrypoint; it is asked only when
 * that decides the dialect.
 */
export function quickSummary(bytes: Buffer, mayRun: () => boolean): Summary | null {
  const { text, encoding } = decode(bytes);
  if (encoding !== 'utf-8') return null;
  const { frontmatter, body } = parseDocument({ path: 'SKILL.md', text, encoding });
  const { fields, problems } = frontmatter;
  if (fields === null || problems.length > 0 || SLOW_FIELDS.some(key => fields.has(key))) return null;
  const name = fields.get('name');
  const description = fields.get('description');
  if (name === undefined || description === undefined || mayHaveToolSection(body)) return null;
  const named = textOf(name, text);
  const described = textOf(description, text);
  if (named.guessed || described.guessed || named.text === null || described.text === null) return null;
  if (named.text.length > MAX_NAME || !KEBAB.test(named.text)) return null;
  if (skillboxKey(fields) === null && fields.has('version') && mayRun()) return null;
  const dialect =
    skillboxKey(fields) !== null ? 'skillbox' : workspaceKey(fields) !== null ? 'workspace' : 'agent-skills';
  return { dialect, name: named.text, description: described.text, offer: PLAIN_OFFER };
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

/** Whether a file of this name may be what a skill with a version runs (SB-01). */
export function isEntrypointName(name: string): boolean {
  return ENTRYPOINTS.includes(name);
}
