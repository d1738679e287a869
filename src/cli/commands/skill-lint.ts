import { resolve } from 'node:path';
import { EXIT, visibleLine } from '../../base/index.ts';
import { TARGETS, type Target } from '../../dialects/index.ts';
import { DIALECTS, type Diagnostic, type DiagnosticCode, type DialectName } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { type Linted, lintSkill } from '../lint.ts';
import { ownCapabilities } from '../own-capabilities.ts';
import { countSeverities, plural, renderCounts, renderDiagnostic } from '../render-diagnostics.ts';
import type { SarifResult } from '../sarif.ts';
import { expandPaths } from '../skill-paths.ts';
import { VERSION } from '../version.ts';

export const skillLint: Command = {
  name: 'skill lint',
  summary: 'Check skills: folders, zips, or directories of skills.',
  args: [{ name: 'PATH', help: 'a skill, or a directory with skills in it', required: true, many: true }],
  options: {
    dialect: { help: 'read as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    target: { help: 'add the known rules of a client', value: 'CLIENT', choices: [...TARGETS, 'all'] },
    strict: { help: 'warnings fail too' },
    fix: { help: 'apply the safe repairs to the files' },
    quiet: { help: 'show errors only', short: 'q' },
    json: { help: 'print one JSON document' },
    sarif: { help: 'print SARIF 2.1.0' },
  },
  examples: [
    'skillbox skill lint ./my-skill',
    'skillbox skill lint --strict --target claude skills/',
    'skillbox skill lint --json my-skill.zip',
  ],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const targets = input.value('target');
  const options = {
    dialect: input.value('dialect') as DialectName | null,
    targets: targets === 'all' ? TARGETS : targets === null ? [] : [targets as Target],
    digest: input.flag('json'),
    fix: input.flag('fix'),
    capabilities: await ownCapabilities(io),
  };
  const results: Linted[] = [];
  for (const path of expandPaths(input.args, io.cwd)) {
    const linted = await lintSkill(resolve(io.cwd, path), options);
    const result = { ...linted, path };
    results.push(result);
    if (!input.flag('json') && !input.flag('sarif')) printSkill(result, input.flag('quiet'), io);
  }
  const failed = results.filter(result => !result.ok || (input.flag('strict') && hasWarnings(result.diagnostics)));
  if (input.flag('json')) io.out(`${JSON.stringify(toJson(results), null, 2)}\n`);
  else if (input.flag('sarif')) io.out(`${JSON.stringify(await sarifOf(results, io.cwd), null, 2)}\n`);
  else printSummary(results, failed.length, io);
  return failed.length === 0 ? EXIT.ok : EXIT.invalidSkill;
}

function printSkill(result: Linted, quiet: boolean, io: Io): void {
  const { paint } = io;
  const shown = quiet ? result.diagnostics.filter(({ severity }) => severity === 'error') : result.diagnostics;
  if (quiet && shown.length === 0) return;
  const mark = result.ok ? paint('green', '✔') : paint('red', '✖');
  const what = [
    result.dialect ?? 'no skill',
    result.name === null ? null : visibleLine(result.name, 64),
    result.version === null ? null : visibleLine(result.version, 40),
  ];
  const repaired = result.fixed === 0 ? '' : `, ${plural(result.fixed, 'repair')} written`;
  io.out(
    `${mark} ${paint('bold', visibleLine(result.path, 120))} ${paint('dim', `(${what.filter(part => part !== null).join(' ')}${repaired})`)}\n`,
  );
  for (const diagnostic of shown) io.out(renderDiagnostic(diagnostic, result.lineOf(diagnostic), paint));
  if (!result.loads && !result.ok) io.out(`  ${paint('dim', 'No client would load this skill.')}\n`);
}

function printSummary(results: readonly Linted[], failed: number, io: Io): void {
  const counts = countSeverities(results.flatMap(result => result.diagnostics));
  const verdict = failed === 0 ? io.paint('green', 'ok') : io.paint('red', `${failed} failed`);
  io.out(`${plural(results.length, 'skill')}: ${verdict}; ${renderCounts(counts)}\n`);
}

function toJson(results: readonly Linted[]): object {
  const counts = countSeverities(results.flatMap(result => result.diagnostics));
  return {
    skills: results.map(({ path, dialect, name, version, digest, loads, ok, diagnostics }) => ({
      path,
      dialect,
      name,
      version,
      digest,
      loads,
      ok,
      diagnostics: diagnostics.map(({ fix, ...rest }) => ({ ...rest, fixable: fix !== null })),
    })),
    summary: {
      skills: results.length,
      ok: results.filter(result => result.ok).length,
      loads: results.filter(result => result.loads).length,
      errors: counts.error,
      warnings: counts.warning,
      infos: counts.info,
    },
  };
}

async function sarifOf(results: readonly Linted[], cwd: string): Promise<object> {
  const { diagnosticRule, toSarif } = await import('../sarif.ts');
  return toSarif(
    results.map(({ path, diagnostics }) => ({ path, results: diagnostics.map(toResult) })),
    diagnosticRule,
    { version: VERSION, cwd },
  );
}

const ABOUT_ARCHIVES: ReadonlySet<DiagnosticCode> = new Set(['archive-unsafe', 'archive-too-large']);
const LEVEL = { error: 'error', warning: 'warning', info: 'note' } as const;

function toResult({ code, severity, message, hint, file, line, column }: Diagnostic): SarifResult {
  return {
    rule: code,
    level: LEVEL[severity],
    text: hint === '' ? message : `${message}. ${hint}`,
    file: ABOUT_ARCHIVES.has(code) ? '' : file,
    line,
    column,
  };
}

function hasWarnings(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === 'warning');
}
