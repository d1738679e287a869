import { existsSync, mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_RETENTION } from '../../src/in-process/index.ts';
import { openParts } from '../../src/parts.ts';
import type { Service } from '../../src/service/index.ts';
import { openStore } from '../../src/store/index.ts';
import { bytesOf, newRecord, WRITER } from '../support/record.ts';
import { openService, publish, startOf, type TestService } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const DAY = 86_400_000;
const WRITES = 'echo printed; printf "$WHO" > "$SANDBOX_FILES_DIR/file.txt"\n';

async function open(retention: Partial<typeof DEFAULT_RETENTION> = {}): Promise<TestService> {
  const opened = await openService(['a'], { retention: { ...DEFAULT_RETENTION, ...retention } });
  onTestFinished(() => opened.close());
  await publish(opened.as('a'), { name: 'writes', body: WRITES });
  return opened;
}

async function runOnce(service: Service, who: string) {
  const run = await service.runs.start(startOf('writes', { env: { WHO: who } }), { idempotencyKey: null });
  return service.runs.wait(run.id, { timeoutMs: 20_000, signal: null });
}

/** As if it had been made so long ago. */
async function age({ data }: TestService, id: string, ms: number): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(join(data, 'skillbox.db'), { timeout: 5000 });
  database.prepare('UPDATE runs SET created_at = created_at - ? WHERE id = ?').run(ms, id);
  database.close();
}

/** As if every blob had been put so long ago. */
function ageBlobs({ data }: TestService, ms: number): void {
  const at = (Date.now() - ms) / 1000;
  for (const path of blobsIn(data)) utimesSync(path, at, at);
}

function blobsIn(data: string): string[] {
  const root = join(data, 'blobs');
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));
}

describe.skipIf(NO_SANDBOX)('what is kept, and how long', { timeout: 60_000 }, () => {
  test('logs and artifacts go before the run does, and the bytes with them', async () => {
    const opened = await open();
    const a = opened.as('a');
    const [old, young] = [await runOnce(a, 'old'), await runOnce(a, 'young')];
    const before = blobsIn(opened.data).length;
    await age(opened, old.id, 31 * DAY);
    ageBlobs(opened, 2 * DAY);
    expect(await opened.sweepOld()).toEqual({ runs: 0, logs: 1, artifacts: 1, blobs: 2, snapshots: 0, layers: 0 });
    expect(await a.runs.get(old.id)).toMatchObject({ state: 'success', artifacts: [], archive: null, logBytes: 0 });
    expect((await a.runs.logs(old.id, 0)).lines).toEqual([]);
    expect(existsSync(join(opened.data, 'logs', `${old.id}.log`))).toBe(false);
    await expect(a.runs.artifact(old.id, 'file.txt')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    // What the other run and the published skill name is there.
    expect(blobsIn(opened.data)).toHaveLength(before - 2);
    expect((await a.runs.artifact(young.id, 'file.txt')).artifact.bytes).toBe(5);
    expect((await a.runs.logs(young.id, 0)).lines).toHaveLength(1);
    expect(await runOnce(a, 'again')).toMatchObject({ state: 'success' });
    await age(opened, old.id, 60 * DAY);
    expect(await opened.sweepOld()).toMatchObject({ runs: 1, logs: 0, artifacts: 0 });
    await expect(a.runs.get(old.id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await a.audit.verify()).toMatchObject({ ok: true });
  });

  test('a run takes what it keeps with it when records are kept for a shorter time', async () => {
    const opened = await open({ runsMs: 5 * DAY });
    const a = opened.as('a');
    const run = await runOnce(a, 'x');
    await age(opened, run.id, 6 * DAY);
    ageBlobs(opened, 2 * DAY);
    expect(await opened.sweepOld()).toMatchObject({ runs: 1, logs: 1, artifacts: 1, blobs: 2 });
    expect(readdirSync(join(opened.data, 'logs'))).toEqual([]);
  });

  test('content that two runs left stays while one of them names it', async () => {
    const opened = await open();
    const a = opened.as('a');
    const [old, young] = [await runOnce(a, 'same'), await runOnce(a, 'same')];
    expect(old.artifacts).toEqual(young.artifacts);
    await age(opened, old.id, 40 * DAY);
    ageBlobs(opened, 2 * DAY);
    await opened.sweepOld();
    expect((await a.runs.artifact(young.id, 'file.txt')).artifact.bytes).toBe(4);
  });

  test('what was put a moment ago is left alone, also when the same bytes were there long before', async () => {
    const opened = await open();
    const store = openStore(opened.data, WRITER);
    onTestFinished(() => store.close());
    const old = await store.blobs.put(bytesOf('nobody names this'));
    const again = await store.blobs.put(bytesOf('somebody is about to name this'));
    ageBlobs(opened, 2 * DAY);
    // A run has put it, and has not written its record yet.
    await store.blobs.put(bytesOf('somebody is about to name this'));
    expect(await opened.sweepOld()).toMatchObject({ blobs: 1 });
    expect(await store.blobs.size(old.sha256)).toBeNull();
    expect(await store.blobs.size(again.sha256)).not.toBeNull();
  });

  test('what is put while it is looked for stays, though it was old a moment before', async () => {
    const data = tempDir('race');
    const parts = openParts(optionsOf(data));
    const opened = await openService(['a'], { data, parts });
    onTestFinished(() => opened.close());
    const content = () => bytesOf('old, and just now put again');
    const { sha256 } = await parts.store.blobs.put(content());
    ageBlobs(opened, 2 * DAY);
    // Between the look and the removal a run puts the same bytes.
    const keptBlobs = parts.store.keptBlobs.bind(parts.store);
    parts.store.keptBlobs = async sha256s => {
      await parts.store.blobs.put(content());
      return keptBlobs(sha256s);
    };
    expect(await opened.sweepOld()).toMatchObject({ blobs: 0 });
    expect(await parts.store.blobs.size(sha256)).not.toBeNull();
  });

  test('copies of skills go when no run has used them for long, and not while one waits for its turn', async () => {
    const opened = await open();
    const a = opened.as('a');
    const run = await runOnce(a, 'x');
    const snapshots = join(opened.data, 'snapshots');
    const kept = join(snapshots, run.skill.digest.replace(':', '-'));
    const [other, needed] = ['1', '2'].map(digit => `sb1-sha256-${digit.repeat(64)}`);
    for (const name of [other, needed]) mkdirSync(join(snapshots, name ?? ''));
    const store = openStore(opened.data, WRITER);
    onTestFinished(() => store.close());
    const waiting = { ...run.skill, digest: (needed ?? '').replace('sb1-sha256-', 'sb1-sha256:') };
    await store.runs.insert(newRecord({ tenant: 'a', state: 'waiting', skill: waiting }), []);
    const at = (Date.now() - 31 * DAY) / 1000;
    for (const name of readdirSync(snapshots)) utimesSync(join(snapshots, name), at, at);
    // Used again: it is as good as new.
    await runOnce(a, 'y');
    expect(await opened.sweepOld()).toMatchObject({ snapshots: 1 });
    expect(new Set(readdirSync(snapshots))).toEqual(new Set([kept.split('/').at(-1), needed]));
    utimesSync(kept, at, at);
    expect(await opened.sweepOld()).toMatchObject({ snapshots: 1 });
    expect(existsSync(kept)).toBe(false);
    expect(await runOnce(a, 'z')).toMatchObject({ state: 'success' });
  });

  test('layers go when no run has used them for long', async () => {
    const opened = await open();
    const layers = join(opened.data, 'layers');
    const [old, young] = ['a', 'b'].map(digit => digit.repeat(64));
    for (const name of [old ?? '', young ?? '', 'inputs']) mkdirSync(join(layers, name), { recursive: true });
    const at = (Date.now() - 31 * DAY) / 1000;
    for (const name of [old ?? '', 'inputs']) utimesSync(join(layers, name), at, at);
    expect(await opened.sweepOld()).toMatchObject({ layers: 1 });
    expect(new Set(readdirSync(layers))).toEqual(new Set(['inputs', young, 'work']));
    expect(readdirSync(join(layers, 'work'))).toEqual([]);
  });

  test('null keeps everything', async () => {
    const forever = { runsMs: null, logsMs: null, artifactsMs: null, snapshotsMs: null, layersMs: null };
    const opened = await open(forever);
    const a = opened.as('a');
    const run = await runOnce(a, 'x');
    await age(opened, run.id, 4000 * DAY);
    ageBlobs(opened, 4000 * DAY);
    expect(await opened.sweepOld()).toEqual({ runs: 0, logs: 0, artifacts: 0, blobs: 0, snapshots: 0, layers: 0 });
    expect((await a.runs.artifact(run.id, 'file.txt')).artifact.bytes).toBe(1);
  });
});
