import type { Node, Pair, YAMLMap } from 'yaml';
import { type JsonValue, yamlLibrary } from '../../base/index.ts';
import { checkEdit, type Edit, holds, type State, uneditable } from './edit.ts';

type Entry = Pair<Node, Node | null>;

/** Sets or removes `group.name` in YAML, or removes `group`, by lines: what else stands in the file keeps its form and its comments. */
export const editYaml: Edit = (text, path, value) => {
  const { document, root } = read(text);
  const [group = '', name = ''] = path;
  if (path.length === 1 && value === null) {
    const entry = root === null ? null : find(root, group);
    const without = entry === null ? text : cut(text, linesOf(text, entry));
    checkEdit(toJson(document), toJson(read(without).document), path, null);
    return without;
  }
  const now = (toJson(document) as Record<string, Record<string, JsonValue> | undefined>)[group]?.[name];
  if (now !== undefined && value !== null && holds(now, value)) return text;
  const after = edit(text, root, [group, name], value);
  if (after !== text) checkEdit(toJson(document), toJson(read(after).document), path, value);
  return after;
};

export function stateOfYaml(text: string, [group = '']: readonly string[]): State {
  const { root } = read(text);
  const entry = root === null ? null : find(root, group);
  if (entry === null) return 'absent';
  const { start, end } = linesOf(text, entry);
  return /^[^#]*:\s*(?:\{\s*\})?\s*$/.test(text.slice(start, end)) ? 'empty' : 'filled';
}

function toJson(document: { toJS(): unknown }): JsonValue {
  return (document.toJS() ?? {}) as JsonValue;
}

function read(text: string) {
  const { parseAllDocuments, isMap } = yamlLibrary();
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (second !== undefined) throw uneditable('there are several documents in it');
  if (document === undefined) return { document: { toJS: () => ({}) }, root: null };
  const [error] = document.errors;
  if (error !== undefined) throw uneditable(error.message.split('\n', 1)[0] ?? 'it is no YAML');
  const root = document.contents;
  if (root !== null && !isMap(root)) throw uneditable('it is no mapping');
  if (root?.flow === true) throw uneditable('it is written in one line');
  return { document, root: root as YAMLMap<Node, Node | null> | null };
}

function edit(
  text: string,
  root: YAMLMap<Node, Node | null> | null,
  [groupName, name]: readonly [string, string],
  value: JsonValue | null,
): string {
  const group = root === null ? null : find(root, groupName);
  if (group === null) {
    if (value === null) return text;
    const start = text === '' || text.endsWith('\n') ? text : `${text}\n`;
    return `${start}${groupName}:\n${render({ [name]: value }, '  ')}`;
  }
  const { isMap, isScalar } = yamlLibrary();
  const entries = group.value;
  const empty =
    entries === null || (isScalar(entries) && entries.value === null) || (isMap(entries) && entries.items.length === 0);
  if (empty) {
    if (value === null) return text;
    const { start, end } = linesOf(text, group);
    // `extensions:` and `extensions: {}` alike, with the comment behind it.
    const line = text.slice(start, end).replace(/:\s*(?:\{\s*\}|~|null)/, ':');
    return `${text.slice(0, start)}${line.endsWith('\n') ? line : `${line}\n`}${render({ [name]: value }, '  ')}${text.slice(end)}`;
  }
  if (!isMap(entries) || entries.flow === true) throw uneditable(`"${groupName}" is written in one line`);
  const map = entries as YAMLMap<Node, Node | null>;
  const entry = find(map, name);
  const without = entry === null ? text : cut(text, linesOf(text, entry));
  if (value === null) return map.items.length === 1 && entry !== null ? emptied(without, group) : without;
  const first = map.items[0]?.key.range?.[0] ?? 0;
  const indent = ' '.repeat(first - (text.lastIndexOf('\n', first - 1) + 1));
  // Right below the name of the group: a comment above the first entry stays with that entry.
  const below = lineEnd(text, group.key.range?.[1] ?? 0);
  const at = entry === null ? below : linesOf(text, entry).start;
  return `${without.slice(0, at)}${render({ [name]: value }, indent)}${without.slice(at)}`;
}

/** A group without entries is written as one: left bare, it would mean nothing at all. */
function emptied(text: string, group: Entry): string {
  const at = group.key.range?.[1] ?? 0;
  const colon = text.indexOf(':', at) + 1;
  return `${text.slice(0, colon)} {}${text.slice(colon)}`;
}

function find(map: YAMLMap<Node, Node | null>, name: string): Entry | null {
  const { isScalar, isAlias } = yamlLibrary();
  if (map.items.some(({ key, value }) => isAlias(key) || isAlias(value))) throw uneditable('it uses aliases');
  return map.items.find(({ key }) => isScalar(key) && key.value === name) ?? null;
}

function render(value: JsonValue, indent: string): string {
  const { stringify } = yamlLibrary();
  return stringify(value, { lineWidth: 0 }).replace(/^(?=.)/gm, indent);
}

type Lines = { start: number; end: number };

/** From the line of the key to the line in which its last word ends. */
function linesOf(text: string, { key, value }: Entry): Lines {
  const from = key.range?.[0] ?? 0;
  const to = Math.max(key.range?.[1] ?? 0, value === null ? 0 : lastWord(value));
  return { start: text.lastIndexOf('\n', from - 1) + 1, end: lineEnd(text, to) };
}

function lastWord(node: Node): number {
  const { isMap, isSeq } = yamlLibrary();
  if ((isMap(node) || isSeq(node)) && node.flow !== true) {
    const last = node.items.at(-1) as Entry | Node | undefined;
    if (last !== undefined && 'key' in last)
      return Math.max(last.key.range?.[1] ?? 0, last.value === null ? 0 : lastWord(last.value));
    if (last !== undefined) return lastWord(last as Node);
  }
  return node.range?.[1] ?? 0;
}

/** Behind the line break that ends the line; a place right behind one is in the line before it. */
function lineEnd(text: string, at: number): number {
  if (at > 0 && text[at - 1] === '\n') return at;
  const next = text.indexOf('\n', at);
  return next === -1 ? text.length : next + 1;
}

function cut(text: string, { start, end }: Lines): string {
  return text.slice(0, start) + text.slice(end);
}
