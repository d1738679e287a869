import { visible, visibleLine } from '../base/index.ts';
import type { Diagnostic, Severity } from '../skill/index.ts';
import type { Paint } from './io.ts';
import { widthOf } from './wrap.ts';

const COLOUR: Record<Severity, 'red' | 'yellow' | 'blue'> = { error: 'red', warning: 'yellow', info: 'blue' };
const MAX_FRAME_WIDTH = 110;

/** One finding for a person: place, severity, message, the line it is about, and what to do. */
export function renderDiagnostic(diagnostic: Diagnostic, line: string | null, paint: Paint): string {
  const { severity, message, file, code, hint } = diagnostic;
  const place = `${visibleLine(file, 80)}:${diagnostic.line}:${diagnostic.column}`;
  const out = [
    `  ${paint(COLOUR[severity], severity)} ${onOneLine(message)} ${paint('dim', `[${code}]`)}`,
    `    ${paint('cyan', place)}`,
  ];
  if (line !== null && line.trim() !== '') out.push(...renderFrame(diagnostic, line, paint));
  out.push(`    ${paint('dim', 'hint:')} ${onOneLine(hint)}`);
  return `${out.join('\n')}\n`;
}

/** A message quotes the skill, and a line of its own could pass for one of ours. */
function onOneLine(text: string): string {
  return visible(text).replace(/[\n\t]/g, ' ');
}

/** The line with a caret below it; a long line is cut around the place. */
function renderFrame(diagnostic: Diagnostic, line: string, paint: Paint): string[] {
  const at = diagnostic.column - 1;
  const start = boundary(line, Math.max(0, Math.min(at - MAX_FRAME_WIDTH / 2, line.length - MAX_FRAME_WIDTH)));
  const end = boundary(line, start + MAX_FRAME_WIDTH);
  const before = onOneLine(line.slice(start, at));
  const shown = `${start > 0 ? '…' : ''}${onOneLine(line.slice(start, end))}${end < line.length ? '…' : ''}`;
  const number = String(diagnostic.line);
  const caret = ' '.repeat(widthOf(before) + (start > 0 ? 1 : 0));
  return [
    `    ${paint('dim', `${number} |`)} ${shown}`,
    `    ${paint('dim', `${' '.repeat(number.length)} |`)} ${caret}${paint('red', '^')}`,
  ];
}

/** The same place, or the one before it where that lies in the middle of a character. */
function boundary(line: string, at: number): number {
  return (line.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
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
