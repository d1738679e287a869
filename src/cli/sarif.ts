import type { JsonObject } from '../base/index.ts';
import { CODES, type Diagnostic, type DiagnosticCode } from '../skill/index.ts';

const LEVEL = { error: 'error', warning: 'warning', info: 'note' } as const;

/** SARIF 2.1.0: one run, one rule per code that occurs, one result per finding. `prefix` leads from here to the skill. */
export function toSarif(
  skills: readonly { prefix: string; diagnostics: readonly Diagnostic[] }[],
  version: string,
): JsonObject {
  const used = [...new Set(skills.flatMap(skill => skill.diagnostics.map(diagnostic => diagnostic.code)))].sort();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'skillbox', version, rules: used.map(toRule) } },
        columnKind: 'utf16CodeUnits',
        results: skills.flatMap(({ prefix, diagnostics }) =>
          diagnostics.map(diagnostic => toResult(prefix, diagnostic, used)),
        ),
      },
    ],
  };
}

function toRule(code: DiagnosticCode): JsonObject {
  const entry = CODES[code];
  return {
    id: code,
    shortDescription: { text: entry.title },
    ...(entry.why === '' ? {} : { fullDescription: { text: entry.why } }),
    help: { text: entry.hint },
    defaultConfiguration: { level: LEVEL[entry.strict] },
    properties: { requirement: entry.requirement },
  };
}

function toResult(prefix: string, diagnostic: Diagnostic, used: readonly DiagnosticCode[]): JsonObject {
  const uri = [prefix, diagnostic.file].filter(part => part !== '' && part !== '.').join('/');
  return {
    ruleId: diagnostic.code,
    ruleIndex: used.indexOf(diagnostic.code),
    level: LEVEL[diagnostic.severity],
    message: { text: diagnostic.hint === '' ? diagnostic.message : `${diagnostic.message}. ${diagnostic.hint}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uri.split('/').map(encodeURIComponent).join('/') },
          region: { startLine: diagnostic.line, startColumn: diagnostic.column },
        },
      },
    ],
  };
}
