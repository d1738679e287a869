/** From the gravest to the mildest; the order counts. */
export const SEVERITIES = ['high', 'medium', 'low', 'info'] as const;
export type ScanSeverity = (typeof SEVERITIES)[number];

/** One thing that a person should look at before he trusts the skill. */
export type Finding = {
  rule: string;
  severity: ScanSeverity;
  file: string;
  /** Both count from 1. */
  line: number;
  column: number;
  /** The text it is about, safe to show; empty where the finding is about a whole file. */
  excerpt: string;
  why: string;
  fix: string;
  /** Names this finding on this text: what the user's allow list holds. Another text has another fingerprint. */
  fingerprint: string;
};

/** Coverage is part of the answer: what nobody looked into is not clean. */
export type NotLookedInto = {
  file: string;
  reason: 'binary' | 'too-large' | 'budget' | 'language' | 'unreadable' | 'left-out';
  detail: string;
};

export type Scan = {
  /** Gravest first, then by place. */
  findings: Finding[];
  /** What the user's allow list took out of `findings`. */
  silenced: Finding[];
  notLookedInto: NotLookedInto[];
  looked: { files: number; bytes: number };
};

export function atLeast(severity: ScanSeverity, threshold: ScanSeverity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(threshold);
}

/** The milder of the two. */
export function milder(a: ScanSeverity, b: ScanSeverity): ScanSeverity {
  return atLeast(a, b) ? b : a;
}

export function graver(a: ScanSeverity, b: ScanSeverity): ScanSeverity {
  return atLeast(a, b) ? a : b;
}

export function countFindings(findings: readonly Finding[]): Record<ScanSeverity, number> {
  const counts = { high: 0, medium: 0, low: 0, info: 0 };
  for (const { severity } of findings) counts[severity]++;
  return counts;
}

/** Gravest first, so that whoever reads only the top reads the right part. */
export function sortFindings(findings: Finding[]): Finding[] {
  return findings.sort(
    (a, b) =>
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      compare(a.file, b.file) ||
      a.line - b.line ||
      a.column - b.column ||
      compare(a.rule, b.rule),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
