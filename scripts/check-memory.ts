// Is memory bounded? `node --expose-gc scripts/check-memory.ts [RUNS] [BYTES]`: one run that prints BYTES (1 GB), then many small runs.
// Prints figures; it is no test, because figures of memory depend on the machine.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { keyPathOf, openAnswers } from '../src/approvals/index.ts';
import { type Call, readSkill } from '../src/dialects/index.ts';
import { DEFAULT_IMAGE_LIMITS, openImages } from '../src/images/index.ts';
import { BUILD_LIMITS, createLayers, DEFAULT_INDEXES } from '../src/layers/index.ts';
import { createJudge, openTrustStore } from '../src/policy/index.ts';
import {
  createAfterwards,
  createStandby,
  DEFAULT_RUN_LIMITS,
  localCaller,
  REQUIRED,
  type Runner,
  runnerFor,
  startRun,
  thisWriter,
} from '../src/runs/index.ts';
import { createBubblewrap, DEFAULT_UIDS, warmOptions } from '../src/sandbox/index.ts';
import { openSecrets } from '../src/secrets/index.ts';
import { openFolder } from '../src/skill/index.ts';
import { openStore } from '../src/store/index.ts';

const MIB = 1024 ** 2;
const RUNS = Number(process.argv[2] ?? 2000);
const BYTES = Number(process.argv[3] ?? 1e9);
const data = mkdtempSync(join(tmpdir(), 'skillbox-memory-'));
const call: Call = { target: { kind: 'main' }, input: {}, stdin: null, mode: 'Global', callerEnv: {} };

const writer = thisWriter();
const store = openStore(join(data, 'data'), writer);
const sandbox = createBubblewrap({
  stateDir: join(data, 'data/sandbox'),
  uids: DEFAULT_UIDS,
  search: [dirname(process.execPath)],
  cgroups: true,
  spares: 0,
  warm: warmOptions(0),
  bwrap: null,
  helper: null,
});
const limits = { ...DEFAULT_RUN_LIMITS, defaults: { ...DEFAULT_RUN_LIMITS.defaults, outputBytes: 1024 * MIB } };
const layers = createLayers({
  directory: join(data, 'data/layers'),
  sandbox,
  programs: { search: [dirname(process.execPath)], notes: join(data, 'data/sandbox') },
  indexes: DEFAULT_INDEXES,
  allow: { sources: false, scripts: false },
  limits: BUILD_LIMITS,
  requires: REQUIRED,
});
const images = openImages({
  directory: join(data, 'data/images'),
  owners: { mine: () => writer.id, isAlive: id => !writer.isDead(id) },
  limits: DEFAULT_IMAGE_LIMITS,
  before: async () => undefined,
});
const secrets = openSecrets({
  rows: store.secrets,
  journal: store.journal,
  dataDirectory: join(data, 'data'),
  masterKey: { kind: 'own', path: join(data, 'data/master.key') },
  broker: { pins: [], roots: [] },
});
const runner: Runner = runnerFor(
  {
    store,
    sandbox,
    layers,
    images,
    imagePolicy: { allowed: null },
    surroundings: { pins: [], roots: [] },
    dataDirectory: join(data, 'data'),
    offLimits: { data: join(data, 'data'), deciding: [] },
    limits,
    judge: createJudge({
      userPolicy: join(data, 'policy.yaml'),
      directory: null,
      bundled: [],
      own: [data],
      store: openTrustStore(join(data, 'data')),
    }),
    answersOf: tenant => openAnswers(store.answers(tenant), keyPathOf(join(data, 'data'), tenant)),
    writer,
    afterwards: createAfterwards(),
    lending: secrets.lending,
    providers: secrets.providers,
    standby: createStandby(false),
  },
  localCaller(),
);

async function run(path: string) {
  const folder = await openFolder(path);
  try {
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    if (skill === null) throw new Error('the skill cannot be read');
    const request = { skill, folder, call, env: {}, workspace: null, timeoutMs: null };
    return await startRun(runner, request, {
      onState: () => undefined,
      onChunk: () => undefined,
      onBuild: () => undefined,
      signal: null,
      ask: null,
    });
  } finally {
    folder.close();
  }
}

function say(what: string): void {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  const show = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;
  process.stdout.write(`${what}: rss ${show(rss)}, heap ${show(heapUsed)}, external ${show(external)}\n`);
}

function skillOf(name: string, body: string): string {
  const path = join(data, name);
  mkdirSync(join(path, 'scripts'), { recursive: true });
  writeFileSync(join(path, 'SKILL.md'), `---\nname: ${name}\nversion: 1.0.0\ndescription: x\nlang: bash\n---\n`);
  writeFileSync(join(path, 'scripts/main.sh'), body);
  return path;
}

try {
  const small = skillOf('small', 'echo hello; echo 1 > "$SANDBOX_OUTPUT"; echo x > "$SANDBOX_FILES_DIR/x"\n');
  await run(small);
  say('before');
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const begun = performance.now();
  const big = await run(skillOf('big', `head -c ${BYTES} /dev/zero\n`));
  clearInterval(watch);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  process.stdout.write(
    `${BYTES} bytes to stdout: ${big.state}, ${big.logBytes} bytes logged in ${seconds} s, peak rss ${(peak / MIB).toFixed(1)} MiB\n`,
  );
  say('after it');
  for (let done = 0; done < RUNS; ) {
    const { state } = await run(small);
    if (state !== 'success') throw new Error(`a run ended as ${state}`);
    if (++done % Math.max(1, Math.floor(RUNS / 8)) === 0) say(`after ${done} runs`);
  }
} finally {
  await sandbox.close();
  await store.close();
  rmSync(data, { recursive: true, force: true });
}
