import { basename, dirname, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../base/index.ts';
import { CODES, type DiagnosticCode } from '../skill/index.ts';

type Level = 'error' | 'warning' | 'note';
export type SarifResult = { rule: string; level: Level; text: string; file: string; line: number; column: number };
export type SarifRule = { title: string; why: string; help: string; level: Level; properties: JsonObject };

/**
 * SARIF 2.1.0: one run, one rule per id that occurs, one result per finding. `path` is how the skill was named, in `cwd`; the
 * `file` of a result is one of the skill's, or empty where the result is about what `path` names.
 */
export function toSarif(
  skills: readonly { path: string; results: readonly SarifResult[] }[],
  ruleOf: (id: string) => SarifRule,
  { version, cwd }: { version: string; cwd: string },
): JsonObject {
  const used = [...new Set(skills.flatMap(skill => skill.results.map(result => result.rule)))].sort();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'skillbox', version, rules: used.map(id => renderRule(id, ruleOf(id))) } },
        columnKind: 'utf16CodeUnits',
        results: skills.flatMap(({ path, results }) => {
          const base = baseOf(path, cwd);
          return results.map(result => renderResult(base, result, used));
        }),
      },
    ],
  };
}

const LEVEL = { error: 'error', warning: 'warning', info: 'note' } as const;

/** What `lint` says of a code. */
export function diagnosticRule(id: string): SarifRule {
  const { title, why, hint, strict, requirement } = CODES[id as DiagnosticCode];
  return { title, why, help: hint, level: LEVEL[strict], properties: { requirement } };
}

function renderRule(id: string, { title, why, help, level, properties }: SarifRule): JsonObject {
  return {
    id,
    shortDescription: { text: title },
    ...(why === '' ? {} : { fullDescription: { text: why } }),
    help: { text: help },
    defaultConfiguration: { level },
    properties,
  };
}

/** A viewer looks files up by their place from here, written in one way: `./x`, `a/../x` and `/…/x` name nothing that it knows. */
function baseOf(path: string, cwd: string): string {
  const absolute = resolve(cwd, path);
  const folder = basename(absolute).toLowerCase() === 'skill.md' ? dirname(absolute) : absolute;
  const inside = relative(cwd, folder);
  return inside === '..' || inside.startsWith(`..${sep}`) ? pathToFileURL(folder).href : encodePath(inside);
}

function encodePath(path: string): string {
  return path.split(sep).map(encodeURIComponent).join('/');
}

function renderResult(base: string, result: SarifResult, used: readonly string[]): JsonObject {
  const uri = [base, encodePath(result.file)].filter(part => part !== '').join('/');
  return {
    ruleId: result.rule,
    ruleIndex: used.indexOf(result.rule),
    level: result.level,
    message: { text: result.text },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri },
          region: { startLine: result.line, startColumn: result.column },
        },
      },
    ],
  };
}
