import { visible, visibleLine } from '../base/index.ts';
import {
  countFindings,
  type Finding,
  type NotLookedInto,
  RULES,
  type ScanSeverity,
  SEVERITIES,
} from '../scan/index.ts';
import type { Paint } from './io.ts';
import { plural } from './render-diagnostics.ts';

const COLOUR: Record<ScanSeverity, 'red' | 'yellow' | 'blue' | 'dim'> = {
  high: 'red',
  medium: 'yellow',
  low: 'blue',
  info: 'dim',
};
const TITLES = new Map(RULES.map(rule => [rule.id, rule.title]));
const MAX_SHOWN = 8;

export function titleOf(rule: string): string {
  return TITLES.get(rule) ?? rule;
}

/** By file; within a file, a rule says once why and what to do. Findings come gravest first, and so do the files. */
export function renderFindings(findings: readonly Finding[], paint: Paint): string {
  const out: string[] = [];
  for (const [file, inFile] of Map.groupBy(findings, finding => finding.file)) {
    out.push(`  ${paint('bold', visibleLine(file, 100))}`);
    for (const ofRule of Map.groupBy(inFile, finding => finding.rule).values()) out.push(...renderRule(ofRule, paint));
  }
  return out.length === 0 ? '' : `${out.join('\n')}\n`;
}

function renderRule(findings: readonly Finding[], paint: Paint): string[] {
  const [first] = findings;
  if (first === undefined) return [];
  const { severity, rule, why, fix } = first;
  const lines = [`    ${paint(COLOUR[severity], severity.padEnd(6))} ${titleOf(rule)} ${paint('dim', `[${rule}]`)}`];
  for (const { line, column, excerpt, fingerprint } of findings) {
    const place = `${line}:${column}`;
    lines.push(
      `      ${paint('cyan', place)}${excerpt === '' ? '' : ` ${visible(excerpt)}`}  ${paint('dim', `silence: ${fingerprint}`)}`,
    );
  }
  lines.push(`      ${paint('dim', 'why:')} ${visible(why)}`, `      ${paint('dim', 'do: ')} ${visible(fix)}`);
  return lines;
}

/** Coverage, said in every case: nothing found is not the same as nothing there. */
export function renderCoverage(holes: readonly NotLookedInto[], paint: Paint): string {
  if (holes.length === 0) return '';
  const out = [`  ${paint('yellow', 'not looked into:')}`];
  for (const { file, detail } of holes.slice(0, MAX_SHOWN)) {
    out.push(`    ${visibleLine(file, 80)} ${paint('dim', `(${visibleLine(detail, 120)})`)}`);
  }
  if (holes.length > MAX_SHOWN) out.push(`    and ${plural(holes.length - MAX_SHOWN, 'more file')}`);
  return `${out.join('\n')}\n`;
}

export function renderFindingCounts(findings: readonly Finding[]): string {
  const counts = countFindings(findings);
  const parts = SEVERITIES.filter(severity => counts[severity] > 0).map(severity => `${counts[severity]} ${severity}`);
  return parts.length === 0 ? 'nothing found' : parts.join(', ');
}
