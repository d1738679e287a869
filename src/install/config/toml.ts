import { isObject, type JsonValue } from '../../base/index.ts';
import { type Edit, type State, uneditable } from './edit.ts';
import { readToml, type Statement } from './toml-read.ts';

/** Sets or removes the table `[group.name]`. A new table stands at the end; nothing else is touched. */
export const editToml: Edit = (text, path, value) => {
  const statements = readToml(text);
  const own = statements.filter(({ full }) => starts(full, path));
  checkForm(statements, path);
  const wanted = value === null ? null : renderTable(path, value);
  if (wanted !== null && own.length > 0 && sameKeys(own, path, wanted)) return text;
  if (wanted === null && own.length === 0) return text;
  const rest = remove(text, own);
  const after = wanted === null ? rest : append(rest, wanted);
  checkRest(statements, readToml(after), path, wanted);
  return after;
};

/** A group of tables has no line of its own, so it is never left empty. */
export function stateOfToml(text: string, path: readonly string[]): State {
  return readToml(text).some(({ full }) => starts(full, path)) ? 'filled' : 'absent';
}

function starts(full: readonly string[], path: readonly string[]): boolean {
  return path.every((part, index) => full[index] === part);
}

/** `group = { … }` on one line, and arrays of tables, would need a rewrite of lines that are not ours. */
function checkForm(statements: readonly Statement[], path: readonly string[]): void {
  const inline = statements.find(({ kind, full }) => kind === 'pair' && full.length === 1 && full[0] === path[0]);
  if (inline !== undefined) throw uneditable(`"${path[0] ?? ''}" is written in one line`);
  const list = statements.find(({ kind, full }) => kind === 'array' && full[0] === path[0]);
  if (list !== undefined) throw uneditable(`"${path[0] ?? ''}" is a list`);
}

function renderTable(path: readonly string[], value: JsonValue): string {
  if (!isObject(value)) throw uneditable('the entry is no table');
  const lines = Object.entries(value).map(([key, item]) => `${key} = ${renderValue(item)}`);
  return [`[${path.join('.')}]`, ...lines, ''].join('\n');
}

/** JSON's strings are strings of TOML, and so are lists of them. */
function renderValue(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(renderValue).join(', ')}]`;
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return JSON.stringify(value);
  throw uneditable('the entry holds something that TOML cannot');
}

/** The keys that we would write are there with these values; what the user added beside them stays. */
function sameKeys(own: readonly Statement[], path: readonly string[], wanted: string): boolean {
  const there = new Map(own.map(({ full, text }) => [full.slice(path.length).join('\0'), valueText(text)]));
  return readToml(wanted)
    .filter(({ kind }) => kind === 'pair')
    .every(({ full, text }) => there.get(full.slice(path.length).join('\0')) === valueText(text));
}

function valueText(statement: string): string {
  return statement.slice(statement.indexOf('=') + 1).replace(/\s+/g, '');
}

function remove(text: string, own: readonly Statement[]): string {
  let after = text;
  for (const { start, end } of [...own].reverse()) after = after.slice(0, start) + after.slice(end);
  // The empty line that divided it from what stood before.
  return own.length > 0 && own[0]?.start === after.length ? after.replace(/\n\n+$/, '\n') : after;
}

function append(text: string, table: string): string {
  if (text.trim() === '') return text.trim() === '' && text === '' ? table : `${text.trimEnd()}${table}`;
  return `${text.endsWith('\n') ? text : `${text}\n`}\n${table}`;
}

function checkRest(
  before: readonly Statement[],
  after: readonly Statement[],
  path: readonly string[],
  wanted: string | null,
): void {
  const others = (list: readonly Statement[]) =>
    JSON.stringify(
      list.filter(({ full }) => !starts(full, path)).map(({ kind, full, text }) => [kind, full, text.trim()]),
    );
  const own = after.filter(({ full }) => starts(full, path));
  const expected = wanted === null ? [] : readToml(wanted);
  const same =
    JSON.stringify(own.map(({ full, text }) => [full, text])) ===
    JSON.stringify(expected.map(({ full, text }) => [full, text]));
  if (others(before) !== others(after) || !same) throw uneditable('the change would alter something else');
}
