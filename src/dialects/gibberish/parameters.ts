import type { Findings, Parameter, ParameterType } from '../../skill/index.ts';
import { type BlockToken, plainText } from '../markdown.ts';
import { coerceText } from './values.ts';

/** A row of the table: the parameter, the default its description names, and its line in the file. */
export type ParameterRow = { parameter: Parameter; described: string | null; line: number };

const TYPES: readonly ParameterType[] = ['string', 'integer', 'number', 'boolean', 'array'];
const NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const REQUIRED = new Map([
  ['yes', true],
  ['true', true],
  ['no', false],
  ['false', false],
]);
const COLUMNS = ['name', 'type', 'required'] as const;

type Row = { cells: string[]; line: number };
type At = { file: string; bodyLine: number };

/**
 * GB-04: what stands under `#### Parameters`: a table Name | Type | Required | Description, or "None.".
 * Null when something in it cannot be read, which is then reported; `line` is the heading's line in the file.
 */
export function readParameters(
  tokens: readonly BlockToken[],
  line: number,
  at: At,
  findings: Findings,
): ParameterRow[] | null {
  const place = { file: at.file, line, column: 1 };
  const tables = tokens.filter(token => token.type === 'table_open' && token.level === 0);
  if (tables.length > 1) {
    findings.report('parameter-invalid', place, `there are ${tables.length} tables of parameters`);
    return null;
  }
  const [header, ...rows] = readRows(tokens, at);
  if (header === undefined) {
    const text = plainText(tokens.find(token => token.type === 'inline')?.content ?? '');
    if (/^none\.?$/i.test(text)) return [];
    findings.report('parameter-invalid', place, 'there is neither a table of parameters nor "None."');
    return null;
  }
  const titles = header.cells.map(cell => plainText(cell).toLowerCase());
  const missing = COLUMNS.filter(column => !titles.includes(column));
  if (missing.length > 0) {
    findings.report(
      'parameter-invalid',
      { ...place, line: header.line },
      `the table has no column ${missing.join(', ')}`,
    );
    return null;
  }
  return readEach(titles, rows, at, findings);
}

function readEach(titles: string[], rows: Row[], at: At, findings: Findings): ParameterRow[] | null {
  const read: ParameterRow[] = [];
  const names = new Set<string>();
  let valid = true;
  for (const row of rows) {
    const cell = (title: string) => row.cells[titles.indexOf(title)] ?? '';
    // Markdown reads `__init__` as a strong "init"; whoever wrote it meant the name.
    const name = NAME.test(cell('name')) ? cell('name') : plainText(cell('name'));
    const type = TYPES.find(candidate => candidate === plainText(cell('type')).toLowerCase());
    const required = REQUIRED.get(plainText(cell('required')).toLowerCase());
    const description = cell('description');
    let problem: string | null = null;
    if (!NAME.test(name)) problem = `"${name}" is not a parameter name: letters, digits, "_" and "-"`;
    else if (names.has(name)) problem = `the parameter "${name}" is there twice`;
    else if (type === undefined) problem = `"${cell('type')}" is none of ${TYPES.join(', ')}`;
    else if (required === undefined) problem = `"${cell('required')}" under Required is neither yes nor no`;
    names.add(name);
    if (problem !== null || type === undefined || required === undefined) {
      findings.report('parameter-invalid', { file: at.file, line: row.line, column: 1 }, problem ?? '');
      valid = false;
      continue;
    }
    const described = describedDefault(description);
    const parameter = { name, type, required, description, default: null };
    read.push({ parameter, described, line: row.line });
  }
  return valid ? read : null;
}

/** Cells of the top-level table, row by row. */
function readRows(tokens: readonly BlockToken[], at: At): Row[] {
  const rows: Row[] = [];
  let inside = false;
  for (const token of tokens) {
    if (token.type === 'table_open' || token.type === 'table_close') inside = token.nesting === 1 && token.level === 0;
    if (!inside) continue;
    if (token.type === 'tr_open') rows.push({ cells: [], line: at.bodyLine + (token.map?.[0] ?? 0) });
    if (token.type === 'inline') rows.at(-1)?.cells.push(token.content);
  }
  return rows;
}

/** X of "(default: X)"; around it, quotes and code marks are only typography. */
function describedDefault(description: string): string | null {
  const text = /\(default:([^()]*)\)/i.exec(description)?.[1]?.trim() ?? '';
  const bare = /^([`"'])(.*)\1$/.exec(text)?.[2] ?? text;
  return bare === '' ? null : bare;
}

/**
 * GB-06: the default of the description, unless a placeholder brings one. Prose such as "(default: all)" for a number
 * is reported and then ignored: the parameter has no default.
 */
export function resolveDefault(
  row: ParameterRow,
  modifier: Parameter['default'],
  at: At,
  findings: Findings,
): Parameter {
  if (modifier !== null || row.described === null) return { ...row.parameter, default: modifier };
  const value = coerceText(row.parameter.type, row.described);
  if (value === undefined) {
    const { name, type } = row.parameter;
    const message = `"${row.described}" is no default for "${name}", which is of type ${type}`;
    findings.report('parameter-default-invalid', { file: at.file, line: row.line, column: 1 }, message);
  }
  return { ...row.parameter, default: value ?? null };
}
