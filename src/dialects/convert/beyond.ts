import { yamlLibrary } from '../../base/index.ts';
import type { DialectName, Folder } from '../../skill/index.ts';
import { loadSource } from '../source.ts';
import { toJson } from '../yaml.ts';
import type { Loss } from './conversion.ts';

/** What stands in the source's files but in no field of the model, and so cannot be converted: it is at least named. */

const MAX_SHOWN = 20;

export function findBeyondModel(folder: Folder, from: DialectName): Loss[] {
  const { document, manifest } = loadSource(folder);
  const losses: Loss[] = [];
  const headerEnd = document?.frontmatter.bodyAt ?? 0;
  const header = document?.text.slice(0, headerEnd) ?? '';
  const yaml = from === 'seksbot' ? (manifest?.path.endsWith('.json') ? '' : (manifest?.text ?? '')) : header;
  const comments = commentsOf(yaml);
  if (comments.length > 0) {
    const value = comments.slice(0, MAX_SHOWN);
    losses.push({ field: 'comments', value, why: 'comments belong to the file, not to the skill', kept: null });
  }
  const unread = from === 'seksbot' ? [...(document?.frontmatter.fields?.keys() ?? [])] : [];
  if (unread.length > 0) {
    const why = 'seksbot reads its manifest only, so these fields of SKILL.md were never part of the skill';
    losses.push({ field: 'frontmatter', value: unread.slice(0, MAX_SHOWN), why, kept: null });
  }
  const resources = from === 'skillbox' ? document?.frontmatter.fields?.get('resources')?.node : undefined;
  for (const { key, node } of resources?.kind === 'map' ? resources.entries : []) {
    if (key === 'cpu' || key === 'memory') continue;
    const why = 'skillbox knows no such resource, so it was never part of the skill';
    losses.push({ field: `frontmatter.resources.${key}`, value: toJson(node), why, kept: null });
  }
  return losses;
}

function commentsOf(yaml: string): string[] {
  if (!yaml.includes('#')) return [];
  // No other token begins so: a plain value cannot, a quoted one has its quote, a block its indentation.
  const comments = Array.from(new (yamlLibrary().Lexer)().lex(yaml)).filter(token => token.startsWith('#'));
  return comments.map(comment => comment.replace(/^#+/, '').trim()).filter(comment => comment !== '');
}
