import { visible, visibleLine } from '../base/index.ts';
import type { Diagnostic, Severity } from '../skill/index.ts';
import type { Paint } from './io.ts';

const COLOUR: Record<Severity, 'red' | 'yellow' | 'blue'> = { error: 'red', warning: 'yellow', info: 'blue' };
const MAX_FRAME_WIDTH = 110;

/** One finding for a person: place, severity, message, the line it is about, and what to do. */
export function renderDiagnostic(diagnostic: Diagnostic, line: string | null, paint: Paint): string {
  const { severity, message, file, code, hint } = diagnostic;
  const place = `${visibleLine(file, 80)}:${diagnostic.line}:${diagnostic.column}`;
  const out = [
    `  ${paint(COLOUR[severity], severity)} ${visible(message)} ${paint('dim', `[${code}]`)}`,
    `    ${paint('cyan', place)}`,
  ];
  if (line !== null && line.trim() !== '') out.push(...renderFrame(diagnostic, line, paint));
  out.push(`    ${paint('dim', 'hint:')} ${visible(hint)}`);
  return `${out.join('\n')}\n`;
}

/** The line with a caret below it; a long line is cut around the place. */
function renderFrame(diagnostic: Diagnostic, line: string, paint: Paint): string[] {
  const start = Math.max(0, Math.min(diagnostic.column - 1 - MAX_FRAME_WIDTH / 2, line.length - MAX_FRAME_WIDTH));
  const cut = line.slice(start, start + MAX_FRAME_WIDTH);
  const before = visible(cut.slice(0, diagnostic.column - 1 - start)).replaceAll('\t', ' ');
  const shown = `${start > 0 ? '…' : ''}${visible(cut).replaceAll('\t', ' ')}${start + MAX_FRAME_WIDTH < line.length ? '…' : ''}`;
  const number = String(diagnostic.line);
  const caret = ' '.repeat(before.length + (start > 0 ? 1 : 0));
  return [
    `    ${paint('dim', `${number} |`)} ${shown}`,
    `    ${paint('dim', `${' '.repeat(number.length)} |`)} ${caret}${paint('red', '^')}`,
  ];
}

export type Counts = Record<Severity, number>;

export function countSeverities(diagnostics: readonly Diagnostic[]): Counts {
  const counts: Counts = { error: 0, warning: 0, info: 0 };
  for (const { severity } of diagnostics) counts[severity]++;
  return counts;
}

export function renderCounts(counts: Counts): string {
  const parts = (['error', 'warning', 'info'] as const)
    .filter(severity => counts[severity] > 0)
    .map(severity => plural(counts[severity], severity === 'info' ? 'note' : severity));
  return parts.length === 0 ? 'nothing to report' : parts.join(', ');
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
