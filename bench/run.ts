// npm run bench -- run: a minimal skill as a bare process, in Skillbox, in docker run and in sandbox-runtime, side by side.
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once as next } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { IMAGE, startEngine } from '../scripts/docker-engine.mjs';
import { createSkillbox, type RunRequest, type Skillbox } from '../src/app.ts';
import { readSkill } from '../src/dialects/index.ts';
import type { Limits } from '../src/sandbox/index.ts';
import { openDirectory } from '../src/skill/index.ts';
import type { BareAnswer, BareQuestion } from './bare-case.ts';
import { ended, median, percentile, printTable, quiet } from './measure.ts';

const root = join(import.meta.dirname, '..');
const LANGUAGES = ['python', 'node', 'bash'] as const;
type Language = (typeof LANGUAGES)[number];
/** `run` may say itself how long it took; `rate`: how many in a time, where it is not this process that starts them. */
type Case = {
  name: string;
  run: (language: Language) => Promise<unknown>;
  rate?: (language: Language, atOnce: number, forMs: number) => Promise<number>;
};

const ROUNDS = 40;
/** Rounds before the first that counts, and runs of ours before those: a server compiles what it runs for its first hundreds of runs. */
const WARM_UP = 3;
const RUNS_BEFORE = 300;
const INPUT = { x: 1 };
/** Copies under a package.json of their own: ours would make a module of a script that is none. */
const skills = mkdtempSync(join(tmpdir(), 'skillbox-bench-skills-'));
const PROGRAMS: Record<Language, string[]> = {
  python: ['/usr/bin/python3', join(skills, 'python/scripts/main.py')],
  node: [process.execPath, join(skills, 'node/scripts/main.js')],
  bash: ['/bin/bash', join(skills, 'bash/scripts/main.sh')],
};

export async function run(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-bench-'));
  cpSync(join(root, 'bench/skills'), skills, { recursive: true });
  chmodSync(skills, 0o755); // in a container somebody else reads them
  writeFileSync(join(skills, 'package.json'), '{}');
  const create = (name: string, warm: number) =>
    createSkillbox({
      dataDirectory: join(scratch, name),
      search: [dirname(process.execPath)],
      sandbox: 'bubblewrap',
      docker: { socket: '/nowhere', defaultImage: 'none', runtime: null },
      warm,
      // As a server is set up: the wait for the cgroup lies before the run.
      spares: 2,
      allowProcess: false,
      dependencies: { indexes: { pip: null, npm: null, hosts: [] }, allow: { sources: false, scripts: false } },
      allowedImages: null,
      masterKey: { kind: 'own', path: join(scratch, name, 'master.key') },
      broker: { pins: [], roots: [] },
      policy: {
        userPolicy: join(scratch, 'policy.yaml'),
        directory: null,
        bundled: [],
        own: [skills, join(root, 'bench/skills')],
      },
    });
  const engine = findEngine();
  const skillbox = await create('data', 0);
  const warmed = await create('warmed', 2);
  const starter = fork(join(root, 'bench/bare-case.ts'), { env: quiet() });
  try {
    const cases: Case[] = [
      bareFrom(starter, scratch),
      { name: BARE_HERE, run: language => ended(PROGRAMS[language], bareEnv(language, scratch)) },
      { name: 'skillbox, cold', run: language => runSkill(skillbox, language) },
      { name: 'skillbox, warm', run: language => runSkill(warmed, language) },
    ];
    const peers = [
      ...sandboxRuntime(scratch),
      ...(engine === null ? [] : dockerRun(scratch, engine, await limitsOf(skillbox))),
    ];
    await benchLatency(cases, peers, warmed);
    await benchThroughput(cases);
    benchShell(scratch);
  } finally {
    starter.kill();
    await skillbox.close();
    await warmed.close();
    engine?.stop();
    rmSync(scratch, { recursive: true, force: true });
    rmSync(skills, { recursive: true, force: true });
  }
}

const isOurs = (name: string) => name.startsWith('skillbox');

type Times = Map<string, number[]>;

/**
 * Each language twice: the cases back to back, another one first in each round; and each after a pause in which the machine went
 * idle, so that its first microseconds find nothing where it was. A figure is from the start of the call to its answer.
 */
async function benchLatency(cases: Case[], peers: Case[], warmed: Skillbox): Promise<void> {
  for (let round = 0; round < RUNS_BEFORE; round++)
    for (const language of LANGUAGES) for (const { name, run: once } of cases) if (isOurs(name)) await once(language);
  for (const language of LANGUAGES) {
    const [inTurn, paused]: [Times, Times] = [new Map(), new Map()];
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      await settle(warmed);
      const first = (round + WARM_UP) % cases.length;
      for (const one of [...cases.slice(first), ...cases.slice(0, first)]) await time(one, language, round, inTurn);
      for (const one of [...cases, ...peers]) {
        if (one.name === 'docker run' && round >= ROUNDS / 4) continue;
        await settle(warmed);
        await time(one, language, round, paused);
      }
    }
    const what = `A minimal ${language} skill that is read already: judged, journalled, run, collected, recorded (${ROUNDS} rounds`;
    printLatency(`${what}, back to back, after ${RUNS_BEFORE} runs of ours in each language)`, cases, inTurn);
    printLatency(`${what}, docker ${ROUNDS / 4}, each after a pause)`, [...cases, ...peers], paused);
  }
}

async function time({ name, run: once }: Case, language: Language, round: number, times: Times): Promise<void> {
  const start = performance.now();
  const own = await once(language);
  const took = typeof own === 'number' ? own : performance.now() - start;
  if (round >= 0) times.set(name, [...(times.get(name) ?? []), took]);
}

function printLatency(title: string, cases: Case[], times: Times): void {
  const bare = median(times.get('bare process') ?? []);
  const bareHere = median(times.get(BARE_HERE) ?? []);
  const docker = median(times.get('docker run') ?? [0]);
  printTable(
    title,
    ['', 'p50 ms', 'p95 ms', 'vs bare', 'over bare ms', 'vs bare started there', 'docker run takes'],
    cases.map(({ name }) => {
      const all = times.get(name) ?? [];
      const mid = median(all);
      return [
        name,
        mid.toFixed(1),
        percentile(all, 0.95).toFixed(1),
        `${(mid / bare).toFixed(2)}×`,
        (mid - bare).toFixed(1),
        `${(mid / bareHere).toFixed(2)}×`,
        docker === 0 ? '' : `${(docker / mid).toFixed(1)}×`,
      ];
    }),
  );
}

/** The pool refills when it is idle: waited for before each turn, so that it takes no time from the others either. */
async function settle(warmed: Skillbox): Promise<void> {
  for (let quiet = 0, turn = 0; quiet < 3 && turn < 500; turn++) {
    const before = warmed.warmth();
    await sleep(15);
    const { ready, starting } = warmed.warmth();
    quiet = starting === 0 && ready === before.ready ? quiet + 1 : 0;
  }
}

/** The cases take turns, so that none has the better minute of a machine that it shares. */
const RATE_TURNS = 5;
const RATE_MS = 1000;

async function benchThroughput(cases: Case[]): Promise<void> {
  const rows: string[][] = [];
  for (const concurrency of [1, 2, 4, 8]) {
    const rates = cases.map(() => 0);
    for (let turn = 0; turn < RATE_TURNS; turn++)
      for (const [index, { run: once, rate = rateHere(once) }] of cases.entries())
        rates[index] = (rates[index] ?? 0) + (await rate('python', concurrency, RATE_MS)) / RATE_TURNS;
    const [bare = 1, ...others] = rates;
    rows.push([
      String(concurrency),
      ...rates.map(rate => rate.toFixed(0)),
      ...others.map(rate => `${((rate / bare) * 100).toFixed(0)} %`),
    ]);
  }
  const names = cases.map(({ name }) => `${name}, runs/s`);
  printTable(
    `Python runs per second (${RATE_TURNS} turns of ${RATE_MS / 1000} s each)`,
    ['at once', ...names, ...cases.slice(1).map(({ name }) => `${name} of bare`)],
    rows,
  );
}

function rateHere(once: Case['run']): NonNullable<Case['rate']> {
  return async (language, atOnce, forMs) => {
    const start = performance.now();
    let done = 0;
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (performance.now() - start < forMs) {
          await once(language);
          done++;
        }
      }),
    );
    return (done / (performance.now() - start)) * 1000;
  };
}

/** The whole command, as a person types it. */
function benchShell(scratch: string): void {
  const program = join(root, 'dist/cli/skillbox.cjs');
  const env = { ...quiet(), SKILLBOX_DATA_DIR: join(scratch, 'shell') };
  const commands: [string, string[]][] = [
    ['node -e 0', [process.execPath, '-e', '0']],
    ['bare python', PROGRAMS.python],
    [
      'skillbox run (python)',
      [process.execPath, program, 'run', join(root, 'bench/skills/python'), '--input', JSON.stringify(INPUT)],
    ],
  ];
  // Once, as a person does with skills of their own.
  spawnSync(process.execPath, [program, 'trust', 'add', join(root, 'bench/skills')], { env });
  const times = new Map<string, number[]>(commands.map(([name]) => [name, []]));
  const bareEnv = { ...env, SANDBOX_INPUT: JSON.stringify(INPUT), SANDBOX_OUTPUT: join(scratch, 'shell-output.json') };
  for (let round = -2; round < 20; round++) {
    for (const [name, [command = '', ...args]] of commands) {
      const start = performance.now();
      const { status } = spawnSync(command, args, { env: name === 'bare python' ? bareEnv : env });
      if (status !== 0) throw new Error(`${name} ended with ${status}`);
      if (round >= 0) times.get(name)?.push(performance.now() - start);
    }
  }
  const [node = 0, bare = 0, whole = 0] = commands.map(([name]) => median(times.get(name) ?? []));
  printTable(
    'From the shell (20 rounds)',
    ['', 'p50 ms'],
    [
      ['node -e 0', node.toFixed(1)],
      ['bare python', bare.toFixed(1)],
      ['skillbox run (python)', whole.toFixed(1)],
      ['over node and bare', (whole - node - bare).toFixed(1)],
    ],
  );
}

const BARE_HERE = 'bare process, started by the process of Skillbox';

function bareEnv(language: Language, scratch: string): NodeJS.ProcessEnv {
  return {
    PATH: '/usr/bin:/bin',
    SANDBOX_INPUT: JSON.stringify(INPUT),
    SANDBOX_OUTPUT: join(scratch, `bare-${language}-${Math.random()}.json`),
  };
}

/** What everything is compared with: the memory of this process, in which Skillbox runs, must not make it slower. */
function bareFrom(starter: ChildProcess, scratch: string): Case {
  const ask = async (language: Language, atOnce: number, forMs: number): Promise<BareAnswer> => {
    const question: BareQuestion = { command: PROGRAMS[language], env: bareEnv(language, scratch), atOnce, forMs };
    starter.send(question);
    const [answer] = (await next(starter, 'message')) as [BareAnswer];
    return answer;
  };
  return {
    name: 'bare process',
    run: async language => (await ask(language, 1, 0)).ms,
    rate: async (language, atOnce, forMs) => {
      const { ms, done } = await ask(language, atOnce, forMs);
      return (done / ms) * 1000;
    },
  };
}

const requests = new Map<Language, RunRequest>();

/** The skill is read once, as a server does with what was published; each run takes its digest anew. */
function requestFor(language: Language): RunRequest {
  const known = requests.get(language);
  if (known !== undefined) return known;
  const folder = openDirectory(join(root, 'bench/skills', language));
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill === null) throw new Error('the bench skill does not load');
  const call: RunRequest['call'] = {
    target: { kind: 'main' },
    input: INPUT,
    stdin: null,
    mode: 'Global',
    callerEnv: {},
  };
  const request: RunRequest = { skill, folder, call, env: {}, workspace: null, timeoutMs: null };
  requests.set(language, request);
  return request;
}

/** What our run of each of them has; docker gets the same. */
async function limitsOf(skillbox: Skillbox): Promise<Limits> {
  const { considered } = await skillbox.plan(requestFor('node'));
  return considered.planned.spec.limits;
}

async function runSkill(skillbox: Skillbox, language: Language): Promise<void> {
  const record = await skillbox.run(requestFor(language), {
    signal: null,
    onState: () => {},
    onChunk: () => {},
    onBuild: () => {},
    ask: null,
  });
  if (record.state !== 'success') throw new Error(`${language}: ${record.error?.message}`);
}

/** Docker by its own command, with the limits that our run of the same skill has, and its guards. Node is the same one, from the host, for all. */
function dockerRun(scratch: string, { socket, image }: Engine, limits: Limits): Case[] {
  const out = join(scratch, 'docker-out');
  mkdirSync(out, { mode: 0o777 });
  const guards = [
    '--rm --network none --cap-drop ALL --read-only --security-opt no-new-privileges -u 65534:65534',
    `--cpus ${limits.cpus} --memory ${limits.memoryBytes} --memory-swap ${limits.memoryBytes} --pids-limit ${limits.pids}`,
    `--ulimit nofile=${limits.openFiles}:${limits.openFiles} --ulimit fsize=${limits.fileBytes}:${limits.fileBytes} --ulimit core=0:0`,
    '--tmpfs /tmp:size=64m,noexec --tmpfs /root:size=1m,noexec',
  ].flatMap(words => words.split(' '));
  const programs: Record<Language, string[]> = {
    python: ['python3', '/skill/python/scripts/main.py'],
    node: ['/node', '/skill/node/scripts/main.js'],
    bash: ['bash', '/skill/bash/scripts/main.sh'],
  };
  return [
    {
      name: 'docker run',
      run: language => {
        const mounts = [`${skills}:/skill:ro`, `${realpathSync(process.execPath)}:/node:ro`, `${out}:/out`];
        const env = [`SANDBOX_INPUT=${JSON.stringify(INPUT)}`, 'SANDBOX_OUTPUT=/tmp/output.json'];
        const words = [...mounts.flatMap(mount => ['-v', mount]), ...env.flatMap(entry => ['-e', entry])];
        return ended(
          ['docker', '-H', `unix://${socket}`, 'run', ...guards, ...words, image, ...programs[language]],
          quiet(),
        );
      },
    },
  ];
}

type Engine = { socket: string; image: string; stop: () => void };

/** The one that the environment names, or one of our own; null, and said, where there is none. */
function findEngine(): Engine | null {
  const { SKILLBOX_DOCKER_SOCKET: socket, SKILLBOX_DOCKER_IMAGE: image } = process.env;
  if (socket !== undefined && image !== undefined) return { socket, image, stop: () => undefined };
  if (spawnSync('dockerd', ['--version']).status !== 0) {
    process.stderr.write('docker run is left out: there is no dockerd here\n');
    return null;
  }
  const engine = startEngine();
  return engine === null ? null : { ...engine, image: IMAGE };
}

/** The sandbox of another agent tool, through its command; left out where it is not installed. */
function sandboxRuntime(scratch: string): Case[] {
  const program = join(root, 'node_modules/.bin/srt');
  const probe = spawnSync(process.execPath, [program, '-c', 'true'], { env: quiet(), timeout: 20_000 });
  if (probe.status !== 0) {
    process.stderr.write(`sandbox-runtime is left out: ${String(probe.stderr).trim().split('\n').at(-1)}\n`);
    return [];
  }
  return [
    {
      name: 'sandbox-runtime (srt -c)',
      run: language => {
        const command = PROGRAMS[language].join(' ');
        const output = join(scratch, `srt-${language}.json`);
        return ended(
          [
            process.execPath,
            program,
            '-c',
            `SANDBOX_INPUT='${JSON.stringify(INPUT)}' SANDBOX_OUTPUT=/dev/null ${command} || test -e ${output} || true`,
          ],
          quiet(),
        );
      },
    },
  ];
}
