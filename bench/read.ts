// npm run bench -- read: reading 10,000 skills beside the bare libraries and other readers, and how long the CLI takes.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bundled } from './bundle.ts';
import { generateSkills } from './generate.ts';
import { median, printTable, quiet } from './measure.ts';

const root = join(import.meta.dirname, '..');
const SKILLS = 10_000;
const ROUNDS = 3;
const CASES = ['bare libraries', 'skillbox, full read', 'skillbox, header', 'gray-matter', 'skills-ref'];

type Result = { totalMs: number; p50: number; p99: number; rssMb: number; skills: number };

export async function run(): Promise<void> {
  const project = join(root, 'bench/.data/project');
  const data = join(project, '.claude/skills');
  mkdirSync(data, { recursive: true });
  process.stderr.write(`generating ${SKILLS} skills …\n`);
  generateSkills(data, SKILLS);
  benchReading(data);
  benchListing(project, data);
  benchStart();
}

/** In process: the cases take turns, so that a ratio always compares within one run. */
function benchReading(data: string): void {
  const results = new Map<string, Result[]>(CASES.map(name => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of CASES) {
      process.stderr.write(`round ${round + 1}: ${name}\n`);
      const text = execFileSync(process.execPath, [join(root, 'bench/read-case.ts'), name, data], {
        encoding: 'utf8',
        env: quiet(),
      });
      results.get(name)?.push(JSON.parse(text) as Result);
    }
  }
  const time = (name: string) => median((results.get(name) ?? []).map(result => result.totalMs));
  printTable(
    `Reading ${SKILLS} skills (median of ${ROUNDS} rounds)`,
    ['reader', 'skills/s', 'p50 µs', 'p99 µs', 'peak MB', 'time vs bare libraries', 'time vs header'],
    CASES.map(name => {
      const all = results.get(name) ?? [];
      return [
        name,
        Math.round((SKILLS / time(name)) * 1000).toLocaleString('en'),
        (median(all.map(result => result.p50)) * 1000).toFixed(0),
        (median(all.map(result => result.p99)) * 1000).toFixed(0),
        median(all.map(result => result.rssMb)).toFixed(0),
        `${(time(name) / time('bare libraries')).toFixed(2)}×`,
        `${(time(name) / time('skillbox, header')).toFixed(2)}×`,
      ];
    }),
  );
}

/** Whole processes: what a person waits for when each tool lists a project's skills. */
function benchListing(project: string, data: string): void {
  const bin = (name: string) => join(root, 'node_modules/.bin', name);
  const agents = join(project, '.agents');
  if (!existsSync(agents)) {
    mkdirSync(agents, { recursive: true });
    symlinkSync('../.claude/skills', join(agents, 'skills'));
  }
  const cases: [string, string[]][] = [
    ['skillbox (find and read every header)', [process.execPath, bundled('bench/list-headers.ts'), data]],
    ['openskills list', [process.execPath, bin('openskills'), 'list']],
    ['skills list', [process.execPath, bin('skills'), 'list']],
  ];
  const times = new Map<string, number[]>(cases.map(([name]) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, [command = '', ...args]] of cases) {
      const start = performance.now();
      const result = spawnSync(command, args, {
        cwd: project,
        env: quiet(),
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        timeout: 120_000,
      });
      if (result.status === 0 && result.stdout.length > SKILLS) times.get(name)?.push(performance.now() - start);
    }
  }
  const own = median(times.get(cases[0]?.[0] ?? '') ?? []);
  printTable(
    `Listing a project of ${SKILLS} skills, whole process`,
    ['command', 'ms', 'vs skillbox'],
    cases.map(([name]) => {
      const all = times.get(name) ?? [];
      return all.length === 0
        ? [name, 'no answer', '']
        : [name, median(all).toFixed(0), `${(median(all) / own).toFixed(2)}×`];
    }),
  );
}

/** The program as built, against starting Node itself; runs take turns. */
function benchStart(): void {
  const skill = join(root, 'bench/.data/small/word-count');
  cpSync(join(root, 'examples/skillbox/word-count'), skill, { recursive: true });
  const program = join(root, 'dist/cli/skillbox.cjs');
  const cases: [string, string[]][] = [
    ['node -e 0', ['-e', '0']],
    ['skillbox --version', [program, '--version']],
    ['skillbox skill lint (one skill)', [program, 'skill', 'lint', skill]],
  ];
  const times = new Map<string, number[]>(cases.map(([name]) => [name, []]));
  for (let round = 0; round < 40; round++) {
    for (const [name, args] of cases) {
      const start = performance.now();
      const { status } = spawnSync(process.execPath, args, { env: quiet() });
      if (status !== 0) throw new Error(`${name} ended with ${status}`);
      times.get(name)?.push(performance.now() - start);
    }
  }
  const bare = median(times.get('node -e 0') ?? []);
  printTable(
    'Start of the command line (40 runs each, interleaved)',
    ['command', 'p50 ms', 'vs node -e 0'],
    cases.map(([name]) => [
      name,
      median(times.get(name) ?? []).toFixed(1),
      `${(median(times.get(name) ?? []) / bare).toFixed(2)}×`,
    ]),
  );
}
