// npm run bench -- catalog: finding, listing and activating skills beside other tools and a bare walk of the directories.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bundled } from './bundle.ts';
import { generateSkills } from './generate.ts';
import { median, printTable, quiet } from './measure.ts';
import { measureRecall } from './recall.ts';

const root = join(import.meta.dirname, '..');
const data = join(root, 'bench/.data/catalog');
const SIZES = [100, 1000, 10_000];
const ROUNDS = 5;
/** More of whole commands: a machine that others use as well is slower in some of them. */
const COMMAND_ROUNDS = 15;
/** The racy window of a file that was just written, and some. */
const SETTLE_MS = 2500;

type Result = { ms: number; rssMb: number };
type Project = { size: number; path: string; skills: string };

export async function run(): Promise<void> {
  const projects = SIZES.map(makeProject);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SETTLE_MS);
  const program = bundled('bench/catalog-case.ts');
  for (const project of projects) benchInside(project, program);
  for (const project of projects) benchCommands(project);
  printRecall();
}

function makeProject(size: number): Project {
  const path = join(data, String(size));
  const skills = join(path, '.claude/skills');
  mkdirSync(skills, { recursive: true });
  process.stderr.write(`generating ${size} skills …\n`);
  generateSkills(skills, size);
  const agents = join(path, '.agents');
  if (!existsSync(agents)) {
    mkdirSync(agents);
    symlinkSync('../.claude/skills', join(agents, 'skills'));
  }
  return { size, path, skills };
}

/** In process, each case in a process of its own; the cases take turns. */
function benchInside({ size, skills }: Project, program: string): void {
  const names = ['bare walk', 'cold', 'cached', 'catalog', 'activation'];
  const results = new Map<string, Result[]>(names.map(name => [name, []]));
  const cache = join(data, 'cache');
  rmSync(cache, { recursive: true, force: true });
  const ask = (name: string) => {
    const { stdout } = spawnSync(process.execPath, [program, name, skills, cache], { encoding: 'utf8', env: quiet() });
    return JSON.parse(stdout) as Result;
  };
  ask('cached');
  for (let round = 0; round < ROUNDS; round++) for (const name of names) results.get(name)?.push(ask(name));
  const of = (name: string, part: keyof Result) => median((results.get(name) ?? []).map(result => result[part]));
  const node = nodeMb();
  printTable(
    `${size} skills, in process (median of ${ROUNDS})`,
    ['', 'ms', 'vs bare walk', 'peak MB above Node'],
    names.map(name => [
      LABELS[name] ?? name,
      of(name, 'ms').toFixed(1),
      name === 'activation' ? '' : `${(of(name, 'ms') / of('bare walk', 'ms')).toFixed(2)}×`,
      (of(name, 'rssMb') - node).toFixed(0),
    ]),
  );
}

const LABELS: Record<string, string> = {
  'bare walk': 'bare walk: list every directory, stat every file',
  cold: 'Skillbox, cold scan',
  cached: 'Skillbox, cached scan',
  catalog: 'Skillbox, catalog of them as XML',
  activation: 'Skillbox, 200 activations',
};

function nodeMb(): number {
  const { stdout } = spawnSync(
    process.execPath,
    ['-e', 'process.stdout.write(String(process.resourceUsage().maxRSS / 1024))'],
    { encoding: 'utf8', env: quiet() },
  );
  return Number(stdout);
}

/** Whole processes: what a person or an agent waits for. */
function benchCommands({ size, path, skills }: Project): void {
  const bin = (name: string) => join(root, 'node_modules/.bin', name);
  const home = join(data, 'home');
  const store = join(data, `data-${size}`);
  mkdirSync(home, { recursive: true });
  const own = [join(root, 'dist/cli/skillbox.cjs'), 'catalog', '--dir', skills];
  // From a project without skills: in the other one it would find the same ones again, as the project's and through the link.
  const elsewhere = join(data, 'elsewhere');
  mkdirSync(join(elsewhere, '.git'), { recursive: true });
  const cases: { name: string; words: string[]; cold: boolean; rounds: number }[] = [
    { name: 'node -e 0', words: ['-e', '0'], cold: false, rounds: COMMAND_ROUNDS },
    { name: 'skillbox catalog, cold', words: own, cold: true, rounds: COMMAND_ROUNDS },
    { name: 'skillbox catalog, cached', words: own, cold: false, rounds: COMMAND_ROUNDS },
    { name: 'openskills list', words: [bin('openskills'), 'list'], cold: false, rounds: COMMAND_ROUNDS },
    { name: 'skills list', words: [bin('skills'), 'list'], cold: false, rounds: size > 1000 ? 1 : COMMAND_ROUNDS },
  ];
  const times = new Map<string, number[]>(cases.map(({ name }) => [name, []]));
  const env = { ...quiet(), HOME: home, SKILLBOX_DATA_DIR: store };
  for (let round = 0; round < COMMAND_ROUNDS; round++) {
    for (const { name, words, cold, rounds } of cases) {
      if (round >= rounds) continue;
      if (cold) rmSync(store, { recursive: true, force: true });
      const start = performance.now();
      const { status, stdout } = spawnSync(process.execPath, words, {
        cwd: words === own ? elsewhere : path,
        env,
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        timeout: 120_000,
      });
      const answered = status === 0 && (name === 'node -e 0' || stdout.length > size);
      if (answered) times.get(name)?.push(performance.now() - start);
    }
  }
  const time = (name: string) => median(times.get(name) ?? []);
  const peer = Math.min(...['openskills list', 'skills list'].map(time).filter(Number.isFinite));
  printTable(
    `${size} skills, whole commands (median of ${COMMAND_ROUNDS})`,
    ['command', 'ms', 'skills/s', 'rate vs fastest peer'],
    cases.map(({ name }) => {
      const ms = time(name);
      if (!Number.isFinite(ms)) return [name, 'no answer', '', ''];
      const rate = name === 'node -e 0' ? '' : Math.round((size / ms) * 1000).toLocaleString('en');
      return [name, ms.toFixed(0), rate, name === 'node -e 0' ? '' : `${(peer / ms).toFixed(2)}×`];
    }),
  );
}

function printRecall(): void {
  const { queries, at1, at3, at5, missed } = measureRecall();
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  printTable(
    `Queries (bench/queries.json) over the example and conformance skills`,
    ['queries', 'first', 'among three', 'among five', 'missed'],
    [[String(queries), percent(at1), percent(at3), percent(at5), missed.join('; ')]],
  );
}
