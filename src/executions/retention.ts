import { join } from 'node:path';
import { pruneLayers } from '../layers/index.ts';
import { localCaller, type Machine, pruneSnapshots } from '../runs/index.ts';
import type { RunRecord, Store } from '../store/index.ts';

/** How long things are kept after their run was made, or after they were last used; null: for ever. */
export type RetentionSettings = {
  runsMs: number | null;
  logsMs: number | null;
  artifactsMs: number | null;
  /** Copies of skills, and layers of packages: both can be had again. */
  snapshotsMs: number | null;
  layersMs: number | null;
};

/** Where it is all kept. */
export type Place = Pick<Machine, 'store' | 'dataDirectory' | 'writer'>;

/** How many there were of each. */
export type Swept = {
  runs: number;
  logs: number;
  artifacts: number;
  blobs: number;
  snapshots: number;
  layers: number;
};

const PAGE = 500;
/**
 * A blob is put before its record names it. What was put since then is left alone, whoever names it; no run and no upload
 * takes as long to write its record.
 */
const BLOB_GRACE_MS = 86_400_000;
/** A run may use for as long what it has found at its start. */
const LEAST_UNUSED_MS = 2 * 86_400_000;

/** Removes what need not be kept any longer. What a run that goes on, or a published version, refers to is never removed. */
export async function sweepOld(place: Place, settings: RetentionSettings, now: number): Promise<Swept> {
  const { store, dataDirectory } = place;
  const { runsMs, logsMs, artifactsMs, snapshotsMs, layersMs } = settings;
  // What a run leaves goes at the latest with the run, and before it: no record is lost whose log is still there.
  const logs = await forget(store, 'log', shorter(logsMs, runsMs), now);
  const artifacts = await forget(store, 'artifacts', shorter(artifactsMs, runsMs), now);
  const swept: Swept = {
    logs,
    artifacts,
    runs: runsMs === null ? 0 : await removeRuns(store, now - runsMs),
    blobs: await removeBlobs(store, now),
    snapshots: snapshotsMs === null ? 0 : await removeSnapshots(place, now - Math.max(snapshotsMs, LEAST_UNUSED_MS)),
    layers:
      layersMs === null
        ? 0
        : await pruneLayers(join(dataDirectory, 'layers'), now - Math.max(layersMs, LEAST_UNUSED_MS)),
  };
  if (Object.values(swept).some(count => count > 0))
    await store.journal.append({ type: 'storage.swept', ...localCaller(), subject: null, data: { ...swept } });
  return swept;
}

function shorter(one: number | null, other: number | null): number | null {
  return one === null ? other : other === null ? one : Math.min(one, other);
}

async function forget(store: Store, what: 'log' | 'artifacts', keptMs: number | null, now: number): Promise<number> {
  if (keptMs === null) return 0;
  const keeps = ({ logBytes, artifacts, archive }: RunRecord) =>
    what === 'log' ? logBytes > 0 : artifacts.length > 0 || archive !== null;
  let count = 0;
  for (let after: string | null = null; ; ) {
    const page: RunRecord[] = await store.runs.listKeepingOfAllTenants(now - keptMs, after, PAGE);
    const ids = page.filter(keeps).map(({ id }) => id);
    // First what takes the room: a kill in between leaves a record that is found again.
    if (what === 'log') await store.logs.remove(ids);
    if (ids.length > 0) await store.runs.forgetOfAllTenants(ids, what);
    count += ids.length;
    after = page.at(-1)?.id ?? null;
    if (page.length < PAGE) return count;
  }
}

async function removeRuns(store: Store, madeBefore: number): Promise<number> {
  for (let count = 0; ; ) {
    const ids = await store.runs.listOldOfAllTenants(madeBefore, PAGE);
    // Also of those that printed nothing.
    await store.logs.remove(ids);
    if (ids.length > 0) await store.runs.removeOfAllTenants(ids);
    count += ids.length;
    if (ids.length < PAGE) return count;
  }
}

/**
 * Mark, then sweep. Every blob that a run names at this moment is marked; one that is named later was put later, or was put
 * again, and is young. Marks are the beginnings of the names: a blob that shares one stays, which does no harm.
 */
async function removeBlobs(store: Store, now: number): Promise<number> {
  const writtenBefore = now - BLOB_GRACE_MS;
  const marks = new Set<bigint>();
  for await (const sha256 of store.runs.blobsOfAllTenants()) marks.add(markOf(sha256));
  let removed = 0;
  for (let after: string | null = null; ; ) {
    const page = await store.blobs.list({ limit: PAGE, after });
    const old = page.items.filter(blob => blob.writtenAt < writtenBefore && !marks.has(markOf(blob.sha256)));
    const kept = new Set(await store.keptBlobs(old.map(({ sha256 }) => sha256)));
    for (const { sha256 } of old) if (!kept.has(sha256) && (await store.blobs.remove(sha256, writtenBefore))) removed++;
    after = page.next;
    if (after === null) return removed;
  }
}

function markOf(sha256: string): bigint {
  return BigInt(`0x${sha256.slice(0, 16)}`);
}

async function removeSnapshots({ store, dataDirectory, writer }: Place, unusedSince: number): Promise<number> {
  const open = await store.runs.listOfAllTenants(
    ['waiting', 'queued', 'preparing', 'running', 'collecting'],
    1_000_000,
  );
  return pruneSnapshots(dataDirectory, unusedSince, new Set(open.map(({ skill }) => skill.digest)), writer);
}
