import type { JsonValue } from '../../base/index.ts';
import { checkEdit, type Edit, holds, type State, uneditable } from './edit.ts';
import { type JsoncNode, type Member, readJsonc } from './jsonc-read.ts';

/** Sets or removes the entry at `path` in JSON with comments. A new one stands first, so that no other line is touched. */
export const editJsonc: Edit = (given, path, value) => {
  const text = given.trim() === '' ? '{}\n' : given;
  const root = readJsonc(text);
  const after = edit(text, root, path, value);
  if (after !== text) checkEdit(root.value, readJsonc(after).value, path, value);
  return after === text ? given : after;
};

export function stateOfJsonc(text: string, path: readonly string[]): State {
  if (text.trim() === '') return 'absent';
  let node = readJsonc(text);
  for (const key of path) {
    const member = node.members?.find(one => one.key === key);
    if (member === undefined) return 'absent';
    node = member.node;
  }
  return node.members !== null && isBlank(text, node) ? 'empty' : 'filled';
}

/** Neither a member nor a comment between the braces. */
function isBlank(text: string, { start, end }: JsoncNode): boolean {
  return text.slice(start + 1, end - 1).trim() === '';
}

function edit(text: string, root: JsoncNode, path: readonly string[], value: JsonValue | null): string {
  const unit = unitOf(text, root);
  let [node, indent] = [root, ''];
  for (const [depth, key] of path.entries()) {
    const member = memberOf(node, key);
    const inner = path.slice(depth + 1);
    if (member === null) return value === null ? text : put(text, node, indent, unit, key, nest(inner, value));
    indent = indentAt(text, member.start) ?? indent + unit;
    if (inner.length > 0) {
      node = member.node;
      continue;
    }
    if (value === null) return take(text, node, member);
    if (holds(member.node.value, value)) return text;
    return text.slice(0, member.node.start) + render(value, indent, unit) + text.slice(member.node.end);
  }
  return text;
}

function nest([key, ...rest]: readonly string[], value: JsonValue): JsonValue {
  return key === undefined ? value : { [key]: nest(rest, value) };
}

function memberOf(node: JsoncNode, key: string): Member | null {
  if (node.members === null) throw uneditable(`an object is expected where "${key}" belongs`);
  return node.members.find(member => member.key === key) ?? null;
}

/** How the file indents: by its first member that stands on a line of its own, otherwise by two spaces. */
function unitOf(text: string, root: JsoncNode): string {
  const indents = (root.members ?? []).map(({ start }) => indentAt(text, start));
  return indents.find(indent => indent !== null && indent !== '') ?? '  ';
}

/** The blanks before a place; null when something else stands before it in its line. */
function indentAt(text: string, at: number): string | null {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*$/.test(line) ? line : null;
}

function render(value: JsonValue, indent: string, unit: string): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `\n${indent}`);
}

function put(text: string, node: JsoncNode, indent: string, unit: string, key: string, value: JsonValue): string {
  const inner = indent + unit;
  const at = node.start + 1;
  const member = `\n${inner}${JSON.stringify(key)}: ${render(value, inner, unit)}`;
  const rest = text.slice(at);
  const filled = (node.members?.length ?? 0) > 0;
  // What stood in the same line as the brace goes on in a line of its own.
  const sameLine = !/^[ \t]*(?:\r?\n|\/\/|\/\*)/.test(rest);
  const border = filled ? (sameLine ? `,\n${inner}` : ',') : sameLine ? `\n${indent}` : '';
  return `${text.slice(0, at)}${member}${border}${sameLine ? rest.replace(/^[ \t]+/, '') : rest}`;
}

function take(text: string, node: JsoncNode, entry: Member): string {
  const members = node.members ?? [];
  const index = members.indexOf(entry);
  const previous = members[index - 1];
  let start = entry.start;
  const indent = indentAt(text, start);
  if (indent !== null) start = Math.max(node.start + 1, start - indent.length - 1);
  if (text[start - 1] === '\r') start--;
  const end = entry.afterComma ?? entry.node.end;
  const cut = text.slice(0, start) + text.slice(end);
  const inside = cut.slice(node.start + 1, node.end - 1 - (end - start));
  if (inside.trim() === '') return `${cut.slice(0, node.start + 1)}${cut.slice(node.start + 1 + inside.length)}`;
  // The last one is gone, so the comma before it has nothing to divide.
  if (entry.afterComma !== null || previous === undefined || previous.afterComma === null) return cut;
  return cut.slice(0, previous.afterComma - 1) + cut.slice(previous.afterComma);
}
