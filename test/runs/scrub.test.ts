import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { keyPathOf, openAnswers } from '../../src/approvals/index.ts';
import type { JsonValue } from '../../src/base/index.ts';
import { readSkill } from '../../src/dialects/index.ts';
import { DEFAULT_IMAGE_LIMITS, openImages } from '../../src/images/index.ts';
import { BUILD_LIMITS, createLayers, DEFAULT_INDEXES } from '../../src/layers/index.ts';
import { createJudge, openTrustStore } from '../../src/policy/index.ts';
import { execute } from '../../src/runs/execute.ts';
import {
  createAfterwards,
  DEFAULT_RUN_LIMITS,
  localCaller,
  planRun,
  REQUIRED,
  type Runner,
  runnerFor,
} from '../../src/runs/index.ts';
import { newRecord } from '../../src/runs/record.ts';
import { createStandby } from '../../src/runs/standby.ts';
import { createBubblewrap, DEFAULT_UIDS, warmOptions } from '../../src/sandbox/index.ts';
import { createRedactor } from '../../src/secrets/index.ts';
import { openFolder } from '../../src/skill/index.ts';
import { type RunRecord, readLog } from '../../src/store/index.ts';
import { WRITER } from '../support/record.ts';
import { eventsIn, openTestSecrets } from '../support/secrets.ts';
import { NO_SANDBOX, newSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SECRET = 'wh-0123/456+789"abc';

/** A runner as app.ts makes it; the broker's part of a run is left out. */
function newRunner(data: string): Runner {
  buildHelper();
  const { store, lending, providers } = openTestSecrets(data);
  const search = [dirname(process.execPath)];
  const sandbox = createBubblewrap({
    stateDir: join(data, 'sandbox'),
    uids: DEFAULT_UIDS,
    search,
    cgroups: true,
    spares: 0,
    warm: warmOptions(0),
    bwrap: null,
    helper: null,
  });
  const machine = {
    store,
    sandbox,
    layers: createLayers({
      directory: join(data, 'layers'),
      sandbox,
      programs: { search, notes: join(data, 'sandbox') },
      indexes: DEFAULT_INDEXES,
      allow: { sources: false, scripts: false },
      limits: BUILD_LIMITS,
      requires: REQUIRED,
    }),
    images: openImages({
      directory: join(data, 'images'),
      owners: { mine: () => WRITER.id, isAlive: () => true },
      limits: DEFAULT_IMAGE_LIMITS,
      before: async () => undefined,
    }),
    imagePolicy: { allowed: null },
    surroundings: { pins: [], roots: [] },
    dataDirectory: data,
    offLimits: { data, deciding: [] },
    limits: DEFAULT_RUN_LIMITS,
    judge: createJudge({
      userPolicy: join(data, 'policy.yaml'),
      directory: null,
      bundled: [],
      own: [],
      store: openTrustStore(data),
    }),
    answersOf: (tenant: string | null) => openAnswers(store.answers(tenant), keyPathOf(data, tenant)),
    writer: WRITER,
    afterwards: createAfterwards(),
    lending,
    providers,
    standby: createStandby(false),
  };
  return runnerFor(machine, localCaller());
}

type Seen = { record: RunRecord; live: string; log: string; stdout: string; events: string };

/** Runs a skill that was lent the secret; `scrub: false` shows that it would have been seen. */
async function runLent(body: string, scrub: boolean): Promise<Seen> {
  const data = tempDir('scrub');
  const runner = newRunner(data);
  const folder = await openFolder(newSkill('node', body));
  try {
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    if (skill === null) throw new Error('the skill cannot be read');
    const call = {
      target: { kind: 'main' as const },
      input: { secret: SECRET },
      stdin: null,
      mode: 'Global' as const,
      callerEnv: {},
    };
    const request = { skill, folder, call, env: {}, workspace: null, timeoutMs: null };
    const planned = await planRun(runner, request, null);
    const record = newRecord(runner, request, planned);
    await runner.store.runs.insert(record, []);
    const redact = scrub ? createRedactor([{ name: 'custom/webhook', value: SECRET }]) : null;
    const live: Buffer[] = [];
    const hooks = {
      onState: () => undefined,
      onChunk: (_stream: string, chunk: Buffer) => void live.push(Buffer.from(chunk)),
      onBuild: () => undefined,
      signal: null,
    };
    const ended = await execute(
      runner,
      { record, planned, complete: async each => ({ ...each, redact }), unwritten: null },
      hooks,
    );
    const { entries } = readLog(join(data, 'logs'), record.id, 0, 1024 ** 2);
    const textOf = (pieces: typeof entries) => pieces.map(({ bytes }) => bytes.toString('utf8')).join('');
    const events = JSON.stringify(await eventsIn(runner.store));
    return {
      record: ended,
      live: Buffer.concat(live).toString('utf8'),
      log: textOf(entries),
      stdout: textOf(entries.filter(({ stream }) => stream === 'stdout')),
      events,
    };
  } finally {
    folder.close();
    await runner.afterwards.settled();
    await runner.sandbox.close();
    runner.images.close();
    await runner.store.close();
  }
}

const LEAKY = `
const { writeFileSync, mkdirSync, readFileSync } = process.getBuiltinModule('node:fs');
const { secret } = JSON.parse(readFileSync('/sandbox/input.json', 'utf8'));
const name = secret.replaceAll('/', '_');
process.stdout.write('plain ' + secret.slice(0, 7));
setTimeout(() => {
  process.stdout.write(secret.slice(7) + ' and ' + Buffer.from('Bearer ' + secret).toString('base64') + '\\n');
  process.stderr.write(Buffer.from(secret).toString('hex') + ' ' + encodeURIComponent(secret) + '\\n');
  mkdirSync('/sandbox/out/files', { recursive: true });
  writeFileSync('/sandbox/out/files/' + Buffer.from(secret).toString('hex') + '.txt', 'content');
  writeFileSync('/sandbox/out/output.json', JSON.stringify({ note: 'it is ' + secret, [secret]: [secret] }));
  process.stdout.write('last ' + secret.slice(0, 6));
}, 200);
`;

function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  return [
    value,
    json,
    Buffer.from(value).toString('hex'),
    encodeURIComponent(value),
    Buffer.from(`Bearer ${value}`).toString('base64').slice(12, -4),
  ];
}

const shown = (value: JsonValue | object) => JSON.stringify(value);

describe.skipIf(NO_SANDBOX)('SK-10 what a run was lent', () => {
  test('is in nothing that it leaves: log, live view, output, names, events', { timeout: 60_000 }, async () => {
    const { record, live, log, stdout, events } = await runLent(LEAKY, true);
    expect(record.state).toBe('success');
    expect(live).toBe(log);
    expect(log).toContain('plain <secret:custom/webhook> and ');
    // What only began like the secret is not held back for ever.
    expect(stdout).toMatch(/last wh-012$/);
    expect(record.output).toEqual({
      note: 'it is <secret:custom/webhook>',
      '<secret:custom/webhook>': ['<secret:custom/webhook>'],
    });
    expect(record.artifacts.map(({ path }) => path)).toEqual(['secret-custom-webhook.txt']);
    for (const form of formsOf(SECRET))
      for (const text of [log, live, shown(record), events]) expect(text).not.toContain(form);
  });

  test('would be in all of it otherwise: the test above can fail', { timeout: 60_000 }, async () => {
    const { record, log } = await runLent(LEAKY, false);
    expect(log).toContain(`plain ${SECRET} and `);
    expect(shown(record.output)).toContain(JSON.stringify(SECRET));
    expect(record.artifacts[0]?.path).toContain(Buffer.from(SECRET).toString('hex'));
  });
});
