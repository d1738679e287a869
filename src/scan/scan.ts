import { createHash } from 'node:crypto';
import { visible } from '../base/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import { isNegated, isQuoted, isWarning } from './explained.ts';
import { type Finding, milder, type Scan, type ScanSeverity, sortFindings } from './finding.ts';
import { Haystack } from './haystack.ts';
import { SCAN_LIMITS, type ScanLimits, WINDOW_CHARS, WINDOW_OVERLAP } from './limits.ts';
import { loadSubject } from './load.ts';
import type { Detector, Hit, PlacedHit, Rule, ScannedFile } from './rule.ts';
import { RULES } from './rules/index.ts';
import { placeIn, type Span, windowsOf } from './span.ts';
import { isSpoken } from './spoken.ts';

export type ScanOptions = {
  /** Fingerprints that the user has looked at and silenced. Never the skill's own word. */
  allow: ReadonlySet<string>;
  limits: ScanLimits;
};

/** Static findings over instructions and scripts. `skill` is null where the folder does not load; it is scanned all the same. */
export function scanSkill(folder: Folder, skill: Skill | null, options: Partial<ScanOptions> = {}): Scan {
  const limits = options.limits ?? SCAN_LIMITS;
  const deadline = performance.now() + limits.maxMs;
  const { subject, notLookedInto, bytes } = loadSubject(folder, skill, limits, deadline);
  const report = new Report(limits.maxFindingsPerRule);
  const cut = new Set<string>();
  for (const file of subject.files) {
    if (!scanFile(file, report, deadline)) cut.add(file.entry.path);
  }
  for (const path of cut)
    notLookedInto.push({ file: path, reason: 'budget', detail: 'the scan ran out of time in it' });
  for (const rule of RULES) {
    if (rule.detector.kind !== 'skill') continue;
    for (const hit of rule.detector.find(subject)) report.placed(rule, hit);
  }
  const all = sortFindings(report.list);
  const allow = options.allow ?? new Set();
  return {
    findings: all.filter(finding => !allow.has(finding.fingerprint)),
    silenced: all.filter(finding => allow.has(finding.fingerprint)),
    notLookedInto,
    looked: { files: subject.files.length - cut.size, bytes },
  };
}

/** False when time ran out before the end of the file. */
function scanFile(file: ScannedFile, report: Report, deadline: number): boolean {
  const text = new Haystack(file.text.toLowerCase());
  const rules = RULES.filter(({ detector }) => detector.kind !== 'skill' && text.mayHold(detector.needles));
  const spanRules: { rule: Rule; detector: SpanDetector }[] = [];
  for (const rule of rules) {
    const { detector } = rule;
    if (detector.kind === 'file') for (const hit of detector.find(file)) report.placed(rule, hit);
    else if (detector.kind !== 'skill') spanRules.push({ rule, detector });
  }
  if (spanRules.length === 0) return true;
  let count = 0;
  for (const span of file.spans) {
    if (++count % 256 === 0 && performance.now() > deadline) return false;
    for (const window of windowsOf(span, WINDOW_CHARS, WINDOW_OVERLAP)) {
      const lowerWindow = window.text.toLowerCase();
      for (const { rule, detector } of spanRules) {
        const base = rule.where[span.place];
        if (base === undefined || !mayHit(detector.needles, lowerWindow)) continue;
        for (const hit of hitsOf(detector, span, window.text)) report.hit(rule, file, span, base, window.at, hit);
      }
    }
  }
  return true;
}

type SpanDetector = Extract<Detector, { kind: 'pattern' | 'span' }>;

function mayHit(needles: readonly string[], lower: string): boolean {
  return needles.length === 0 || needles.some(needle => lower.includes(needle));
}

function hitsOf(detector: SpanDetector, span: Span, text: string): Hit[] {
  if (detector.kind === 'span') return detector.find(span, text);
  const match = detector.pattern.exec(text);
  if (match === null || detector.unless?.test(text) === true) return [];
  return [{ at: match.index, length: match[0].length }];
}

const MAX_EXCERPT = 160;

/** Turns hits into findings: how grave at this place, once per line, and not without end. */
class Report {
  readonly list: Finding[] = [];
  readonly #max: number;
  readonly #seen = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  hit(rule: Rule, file: ScannedFile, span: Span, base: ScanSeverity, offset: number, hit: Hit): void {
    const at = offset + hit.at;
    const severity = weigh(span, at, hit.length, hit.severity ?? base);
    const excerpt = span.text.slice(at, at + Math.max(hit.length, 1));
    this.#add(
      rule,
      {
        file: file.entry.path,
        ...placeIn(span, at),
        excerpt,
        severity,
        ...(hit.note === undefined ? {} : { note: hit.note }),
      },
      span.text,
    );
  }

  placed(rule: Rule, hit: PlacedHit): void {
    this.#add(rule, { ...hit, severity: hit.severity ?? rule.where.data ?? 'low' }, hit.excerpt);
  }

  #add(rule: Rule, hit: PlacedHit & { severity: ScanSeverity }, text: string): void {
    const { file, line, column, severity, note } = hit;
    const key = `${rule.id}\0${file}\0${line}`;
    const group = `${rule.id}\0${file}\0${severity}`;
    const count = this.#counts.get(group) ?? 0;
    if (this.#seen.has(key) || count >= this.#max) return;
    this.#seen.add(key);
    this.#counts.set(group, count + 1);
    this.list.push({
      rule: rule.id,
      severity,
      file,
      line,
      column,
      excerpt: cut(hit.excerpt),
      why: note === undefined ? rule.why : `${rule.why} ${note}`,
      fix: rule.fix,
      fingerprint: createHash('sha256').update(`${rule.id}\0${file}\0${text}`).digest('hex').slice(0, 16),
    });
  }
}

function cut(text: string): string {
  const line = visible(text.slice(0, MAX_EXCERPT * 2))
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > MAX_EXCERPT ? `${line.slice(0, MAX_EXCERPT - 1)}…` : line;
}

/** The words around it make a hit milder, never absent: they are the author's. */
function weigh(span: Span, at: number, length: number, base: ScanSeverity): ScanSeverity {
  switch (span.place) {
    case 'code':
      return isSpoken(span.text, at) ? milder(base, 'low') : base;
    case 'fence':
      return span.explained ? milder(base, 'low') : base;
    case 'prose': {
      if (isNegated(span.text, at)) return milder(base, 'low');
      const quoted = isQuoted(span.text, at);
      const around = `${span.text.slice(Math.max(0, at - 200), at)} … ${span.text.slice(at + length, at + length + 120)}`;
      if (span.explained || isWarning(around)) return milder(base, quoted ? 'low' : 'medium');
      return quoted ? milder(base, 'medium') : base;
    }
    default:
      return base;
  }
}
