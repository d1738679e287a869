// npm run bench -- scan: what the scanner says of public skills, how fast, and what of the hostile set it finds.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findSkills } from '../src/catalog/index.ts';
import { readSkill } from '../src/dialects/index.ts';
import { atLeast, type Finding, type Scan, SEVERITIES, scanSkill } from '../src/scan/index.ts';
import { openDirectory } from '../src/skill/index.ts';
import { median, percentile, printTable } from './measure.ts';

const root = join(import.meta.dirname, '..');
const archive = process.env.SKILLBOX_CORPUS ?? join(root, '../shared/corpus.tar.gz');
const hostile = join(root, 'test/scan/hostile');
/** High findings on public skills are false alarms until somebody has looked: at most this share of the skills has one. */
const BUDGET = 0.01;

export async function run(): Promise<void> {
  if (existsSync(archive)) benchCorpus();
  else process.stderr.write(`no corpus at ${archive}; set SKILLBOX_CORPUS\n`);
  benchRecall();
}

type Scanned = { path: string; scan: Scan; ms: number };

function benchCorpus(): void {
  const data = join(root, 'bench/.data/corpus');
  mkdirSync(data, { recursive: true });
  execFileSync('tar', ['xzf', archive, '-C', data]);
  const skills = findSkills(data);
  for (const path of skills.slice(0, 200)) scanAt(path); // warm
  const scanned: Scanned[] = skills.map(path => ({ path: relative(data, path), ...scanAt(path) }));
  const totalMs = scanned.reduce((sum, { ms }) => sum + ms, 0);
  const bytes = scanned.reduce((sum, { scan }) => sum + scan.looked.bytes, 0);
  const times = scanned.map(({ ms }) => ms);
  printTable(
    `Scanning ${skills.length} public skills`,
    ['skills/s', 'MB/s', 'p50 ms', 'p99 ms', 'slowest ms'],
    [
      [
        Math.round((skills.length / totalMs) * 1000).toLocaleString('en'),
        (bytes / 1e6 / (totalMs / 1000)).toFixed(1),
        median(times).toFixed(2),
        percentile(times, 0.99).toFixed(1),
        Math.max(...times).toFixed(1),
      ],
    ],
  );
  printSeverities(scanned);
  printRules(scanned);
  const high = scanned.filter(({ scan }) => scan.findings.some(({ severity }) => severity === 'high'));
  printTable(
    'High findings on public skills',
    ['skill', 'rule', 'line', 'text'],
    high.flatMap(({ path, scan }) =>
      scan.findings.filter(({ severity }) => severity === 'high').map(finding => rowOf(path, finding)),
    ),
  );
  const share = high.length / skills.length;
  process.stdout.write(
    `\nHigh on ${high.length} of ${skills.length} skills: ${(share * 100).toFixed(2)} % (budget ${BUDGET * 100} %)\n`,
  );
  if (share > BUDGET) process.exitCode = 1;
}

function printSeverities(scanned: readonly Scanned[]): void {
  const perThousand = (count: number) => ((count / scanned.length) * 1000).toFixed(0);
  printTable(
    'Findings per 1,000 public skills',
    ['severity', 'findings', 'skills with one'],
    SEVERITIES.map(severity => [
      severity,
      perThousand(scanned.flatMap(({ scan }) => scan.findings).filter(finding => finding.severity === severity).length),
      perThousand(scanned.filter(({ scan }) => scan.findings.some(finding => finding.severity === severity)).length),
    ]),
  );
}

function printRules(scanned: readonly Scanned[]): void {
  const counts = new Map<string, number>();
  for (const { rule, severity } of scanned.flatMap(({ scan }) => scan.findings)) {
    if (atLeast(severity, 'medium')) counts.set(`${severity} ${rule}`, (counts.get(`${severity} ${rule}`) ?? 0) + 1);
  }
  printTable(
    'Rules behind them (medium and high)',
    ['severity', 'rule', 'findings'],
    [...counts].sort((a, b) => b[1] - a[1]).map(([key, count]) => [...key.split(' '), String(count)]),
  );
}

function rowOf(path: string, { rule, line, excerpt }: Finding): string[] {
  return [path, rule, String(line), `\`${excerpt.replaceAll('|', '\\|').slice(0, 80)}\``];
}

function scanAt(path: string): { scan: Scan; ms: number } {
  const start = performance.now();
  const folder = openDirectory(path);
  try {
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    return { scan: scanSkill(folder, skill), ms: performance.now() - start };
  } finally {
    folder.close();
  }
}

type Expected = { rule: string; severity: Finding['severity']; family: string };

/** Each case says which rule must find it, and how grave at least. */
function benchRecall(): void {
  const byFamily = new Map<string, { found: number; all: number }>();
  const missed: string[] = [];
  for (const name of readdirSync(hostile).sort()) {
    const expected = JSON.parse(readFileSync(join(hostile, name, 'expect.json'), 'utf8')) as Expected;
    const { scan } = scanAt(join(hostile, name, 'skill'));
    const found = scan.findings.some(
      ({ rule, severity }) => rule === expected.rule && atLeast(severity, expected.severity),
    );
    const counts = byFamily.get(expected.family) ?? { found: 0, all: 0 };
    byFamily.set(expected.family, { found: counts.found + (found ? 1 : 0), all: counts.all + 1 });
    if (!found) missed.push(name);
  }
  const rows = [...byFamily]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([family, { found, all }]) => [family, String(all), String(found)]);
  printTable('Recall on the hostile set', ['family', 'cases', 'found'], rows);
  const all = [...byFamily.values()].reduce((sum, counts) => sum + counts.all, 0);
  process.stdout.write(
    `\nRecall: ${all - missed.length} of ${all}${missed.length === 0 ? '' : `; missed: ${missed.join(', ')}`}\n`,
  );
  if (missed.length > 0) process.exitCode = 1;
}
