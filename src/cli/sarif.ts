import type { JsonObject } from '../base/index.ts';
import { CODES, type DiagnosticCode } from '../skill/index.ts';

type Level = 'error' | 'warning' | 'note';
export type SarifResult = { rule: string; level: Level; text: string; file: string; line: number; column: number };
export type SarifRule = { title: string; why: string; help: string; level: Level; properties: JsonObject };

/** SARIF 2.1.0: one run, one rule per id that occurs, one result per finding. `prefix` leads from here to the skill. */
export function toSarif(
  skills: readonly { prefix: string; results: readonly SarifResult[] }[],
  ruleOf: (id: string) => SarifRule,
  version: string,
): JsonObject {
  const used = [...new Set(skills.flatMap(skill => skill.results.map(result => result.rule)))].sort();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'skillbox', version, rules: used.map(id => renderRule(id, ruleOf(id))) } },
        columnKind: 'utf16CodeUnits',
        results: skills.flatMap(({ prefix, results }) => results.map(result => renderResult(prefix, result, used))),
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

function renderResult(prefix: string, result: SarifResult, used: readonly string[]): JsonObject {
  const uri = [prefix, result.file].filter(part => part !== '' && part !== '.').join('/');
  return {
    ruleId: result.rule,
    ruleIndex: used.indexOf(result.rule),
    level: result.level,
    message: { text: result.text },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uri.split('/').map(encodeURIComponent).join('/') },
          region: { startLine: result.line, startColumn: result.column },
        },
      },
    ],
  };
}
