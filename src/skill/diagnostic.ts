import { CODES, type DiagnosticCode } from './codes.ts';

export type Severity = 'error' | 'warning' | 'info';
/** `strict`: lint and publish. `lenient`: discovery, MCP and the run of a local folder. */
export type ReadMode = 'strict' | 'lenient';

/** A change of the file's text that removes the finding: characters `start` to `end` become `text`. */
export type Edit = { start: number; end: number; text: string };

export type Diagnostic = {
  code: DiagnosticCode;
  severity: Severity;
  message: string;
  file: string;
  /** Both count from 1. */
  line: number;
  column: number;
  hint: string;
  /** Present when `lint --fix` can mend it safely. */
  fix: Edit | null;
};

export type Place = { file: string; line: number; column: number };

/** Collects the findings of one reading; the mode decides how severe each code is. */
export class Findings {
  readonly list: Diagnostic[] = [];
  readonly mode: ReadMode;

  constructor(mode: ReadMode) {
    this.mode = mode;
  }

  report(code: DiagnosticCode, place: Place, message: string, more: { hint?: string; fix?: Edit } = {}): void {
    const entry = CODES[code];
    this.list.push({
      code,
      severity: this.mode === 'strict' ? entry.strict : entry.lenient,
      message,
      file: place.file,
      line: place.line,
      column: place.column,
      hint: more.hint ?? entry.hint,
      fix: more.fix ?? null,
    });
  }
}

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(diagnostic => diagnostic.severity === 'error');
}

/** By file, then place, then code: the order in which people and tests see them. */
export function sortDiagnostics(diagnostics: Diagnostic[]): Diagnostic[] {
  return diagnostics.sort(
    (a, b) => compare(a.file, b.file) || a.line - b.line || a.column - b.column || compare(a.code, b.code),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
