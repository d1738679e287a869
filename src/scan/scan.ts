import { createHash } from 'node:crypto';
import { visible } from '../base/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import { isNegated, isOrdered, isQuoted, isWarning } from './explained.ts';
import { type Finding, graver, milder, type Scan, type ScanSeverity, sortFindings } from './finding.ts';
import { Haystack } from './haystack.ts';
import { SCAN_LIMITS, type ScanLimits } from './limits.ts';
import { loadSubject } from './load.ts';
import type { Detector, Hit, PlacedHit, Rule, ScannedFile } from './rule.ts';
import { RULES } from './rules/index.ts';
import { excerptOf, placeIn, type Span } from './span.ts';
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
  const report = new Report(limits.maxFindingsPerRule, subject.digestOf);
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
  const spanRules: SpanRule[] = [];
  for (const rule of RULES) {
    const { detector } = rule;
    if (detector.kind === 'skill') continue;
    const needles = text.wordsIn(detector.needles);
    if (needles.length === 0 && detector.needles.length > 0) continue;
    if (detector.kind === 'file') for (const hit of detector.find(file)) report.placed(rule, hit);
    else spanRules.push({ rule, detector, needles });
  }
  if (spanRules.length === 0) return true;
  let count = 0;
  for (const span of file.spans) {
    if (++count % 256 === 0 && performance.now() > deadline) return false;
    const lower = span.text.toLowerCase();
    for (const { rule, detector, needles } of spanRules) {
      const base = rule.where[span.place];
      if (base === undefined || (needles.length > 0 && !needles.some(needle => lower.includes(needle)))) continue;
      for (const hit of hitsOf(detector, span)) report.hit(rule, file, span, base, hit);
    }
  }
  return true;
}

type SpanDetector = Extract<Detector, { kind: 'pattern' | 'span' }>;
/** `needles`: those that are in the file at all. */
type SpanRule = { rule: Rule; detector: SpanDetector; needles: readonly string[] };

function hitsOf(detector: SpanDetector, span: Span): Hit[] {
  const { text } = span;
  if (detector.kind === 'span') return detector.find(span);
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

  readonly #digestOf: (path: string) => string;

  constructor(max: number, digestOf: (path: string) => string) {
    this.#max = max;
    this.#digestOf = digestOf;
  }

  hit(rule: Rule, file: ScannedFile, span: Span, base: ScanSeverity, hit: Hit): void {
    const { at } = hit;
    const advised = span.place === 'prose' && isOrdered(span.text, at) ? rule.where.fence : undefined;
    const severity = weigh(span, at, hit.length, hit.severity ?? graver(base, advised ?? base));
    const excerpt = excerptOf(span, at, hit.length);
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

  /** What was found by looking at a whole file is bound to the whole file: the rest of it was part of the reason. */
  placed(rule: Rule, hit: PlacedHit): void {
    const severity = hit.severity ?? rule.where.data ?? 'low';
    this.#add(rule, { ...hit, severity }, `${hit.excerpt}\0${this.#digestOf(hit.file)}`);
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
