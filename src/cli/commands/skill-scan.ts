import { EXIT, visibleLine } from '../../base/index.ts';
import { atLeast, countFindings, type Finding, RULES, type ScanSeverity, SEVERITIES } from '../../scan/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { plural } from '../render-diagnostics.ts';
import { renderCoverage, renderFindingCounts, renderFindings } from '../render-scan.ts';
import type { SarifResult } from '../sarif.ts';
import { readAllowList, type Scanned, scanAt } from '../scan.ts';
import { expandPaths } from '../skill-paths.ts';
import { VERSION } from '../version.ts';

export const skillScan: Command = {
  name: 'skill scan',
  summary:
    'Look for what a skill should not hold: hidden text, orders against the user, downloads that are run, stolen keys. Runs nothing. Exit 1 when something is as grave as --fail-on.',
  args: [{ name: 'PATH', help: 'a skill, or a directory with skills in it', required: true, many: true }],
  options: {
    min: { help: 'show findings from this severity on', value: 'SEVERITY', choices: SEVERITIES },
    'fail-on': {
      help: 'exit 1 from this severity on; default high',
      value: 'SEVERITY',
      choices: [...SEVERITIES, 'none'],
    },
    allow: { help: 'your list of silenced findings; default scan-allow in the configuration directory', value: 'FILE' },
    json: { help: 'print one JSON document' },
    sarif: { help: 'print SARIF 2.1.0' },
  },
  examples: [
    'skillbox skill scan ./my-skill',
    'skillbox skill scan --min medium --fail-on medium skills/',
    'skillbox skill scan --sarif my-skill.zip',
  ],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const forPrograms = input.flag('json') || input.flag('sarif');
  const min = (input.value('min') ?? (forPrograms ? 'info' : 'low')) as ScanSeverity;
  const failOn = (input.value('fail-on') ?? 'high') as ScanSeverity | 'none';
  const paths = expandPaths(input.args, io.cwd);
  const allow = await readAllowList(input.value('allow'), io, paths);
  const results: Scanned[] = [];
  for (const path of paths) {
    const scanned = await scanAt(path, io, allow);
    results.push(scanned);
    if (!forPrograms) printSkill(scanned, min, failOn, io);
  }
  if (input.flag('json')) io.out(`${JSON.stringify(toJson(results, min), null, 2)}\n`);
  else if (input.flag('sarif')) io.out(`${JSON.stringify(await sarifOf(results, min, io.cwd), null, 2)}\n`);
  else printSummary(results, min, io);
  if (results.some(({ refused }) => refused !== null)) return EXIT.invalidSkill;
  return results.some(({ scan }) => fails(scan.findings, failOn)) ? EXIT.failed : EXIT.ok;
}

function fails(findings: readonly Finding[], failOn: ScanSeverity | 'none'): boolean {
  return failOn !== 'none' && findings.some(({ severity }) => atLeast(severity, failOn));
}

function shown(findings: readonly Finding[], min: ScanSeverity): Finding[] {
  return findings.filter(({ severity }) => atLeast(severity, min));
}

function printSkill(
  { path, dialect, name, refused, scan }: Scanned,
  min: ScanSeverity,
  failOn: ScanSeverity | 'none',
  io: Io,
): void {
  const { paint } = io;
  const findings = shown(scan.findings, min);
  const bad = refused !== null || fails(scan.findings, failOn);
  const mark = bad ? paint('red', '✖') : findings.length > 0 ? paint('yellow', '!') : paint('green', '✔');
  const what = [dialect ?? 'no skill', name === null ? null : visibleLine(name, 64)].filter(part => part !== null);
  io.out(`${mark} ${paint('bold', visibleLine(path, 120))} ${paint('dim', `(${what.join(' ')})`)}\n`);
  io.out(renderFindings(findings, paint));
  io.out(renderCoverage(scan.notLookedInto, paint));
  if (scan.silenced.length > 0) {
    io.out(`  ${paint('dim', `${plural(scan.silenced.length, 'finding')} silenced by your allow list`)}\n`);
  }
}

function printSummary(results: readonly Scanned[], min: ScanSeverity, io: Io): void {
  const all = results.flatMap(({ scan }) => scan.findings);
  const hidden = all.length - shown(all, min).length;
  const files = results.reduce((sum, { scan }) => sum + scan.looked.files, 0);
  const holes = results.reduce((sum, { scan }) => sum + scan.notLookedInto.length, 0);
  const rest = hidden === 0 ? '' : ` (${hidden} below ${min} not shown)`;
  io.out(
    `${plural(results.filter(({ refused }) => refused === null).length, 'skill')}: ${renderFindingCounts(all)}${rest}; ${plural(files, 'file')} looked into, ${holes} not\n`,
  );
  // Never a bare verdict: a scan finds what it knows.
  if (all.length === 0 && results.some(({ refused }) => refused === null))
    io.out('Nothing that the rules know was found. That is not a proof; docs/scan.md says what is not seen.\n');
}

function toJson(results: readonly Scanned[], min: ScanSeverity): object {
  return {
    skills: results.map(({ path, dialect, name, refused, scan }) => ({
      path,
      dialect,
      name,
      refused,
      findings: shown(scan.findings, min),
      silenced: scan.silenced,
      notLookedInto: scan.notLookedInto,
      looked: scan.looked,
    })),
    summary: { skills: results.length, ...countFindings(results.flatMap(({ scan }) => scan.findings)) },
  };
}

const LEVEL = { high: 'error', medium: 'warning', low: 'note', info: 'note' } as const;

async function sarifOf(results: readonly Scanned[], min: ScanSeverity, cwd: string): Promise<object> {
  const { toSarif } = await import('../sarif.ts');
  const toResult = ({ rule, severity, file, line, column, excerpt, why, fix }: Finding): SarifResult => {
    const text = `${excerpt === '' ? '' : `${excerpt}: `}${why} ${fix}`;
    return { rule, level: LEVEL[severity], text, file, line, column };
  };
  return toSarif(
    results.map(({ path, scan }) => ({ path, results: shown(scan.findings, min).map(toResult) })),
    ruleForSarif,
    { version: VERSION, cwd },
  );
}

function ruleForSarif(id: string) {
  const rule = RULES.find(one => one.id === id);
  if (rule === undefined) throw new Error(`there is no rule ${id}`);
  const gravest = SEVERITIES.find(severity => Object.values(rule.where).includes(severity)) ?? 'info';
  const { title, why, fix, family } = rule;
  return { title, why, help: fix, level: LEVEL[gravest], properties: { family } };
}
