import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Carrier, openCarrier } from './carrier.ts';
import { planDocker } from './docker.ts';
import { applyLayer, type Omissions } from './layer.ts';
import type { ImageLimits } from './limits.ts';
import type { ImagePlan } from './manifest.ts';
import { digestInName } from './names.ts';
import { isOci, planOci } from './oci.ts';
import { refuse } from './refusal.ts';
import { Tree } from './tree.ts';
import { type Chunks, type Meter, requireGoingOn, unpack } from './unpack.ts';
import { type Written, writeTree } from './write.ts';

const run = promisify(execFile);

/** Where an import stands; `bytes` are unpacked so far. */
export type Progress = { step: 'reading' | 'unpacking' | 'writing'; layer: number; layers: number; bytes: number };

export type ImportHooks = { onProgress: (progress: Progress) => void; signal: AbortSignal | null };

/** An image unpacked in a directory of ours, not yet under any name. */
export type Unpacked = Written & {
  root: string;
  form: ImagePlan['form'];
  env: Record<string, string>;
  notes: string[];
};

const END_BYTES = 1024;

export async function unpackImage(
  name: string,
  path: string,
  staging: string,
  limits: ImageLimits,
  hooks: ImportHooks,
): Promise<Unpacked> {
  const progress: Progress = { step: 'reading', layer: 0, layers: 0, bytes: 0 };
  const meter: Meter = {
    limits,
    unpackedBytes: 0,
    signal: hooks.signal,
    onBytes: bytes => hooks.onProgress({ ...progress, bytes }),
  };
  hooks.onProgress(progress);
  const carrier = await openCarrier(path, join(staging, 'spool'), meter);
  try {
    const plan = await planImage(carrier, name, limits);
    const promised = digestInName(name);
    if (promised !== null && plan.manifest !== promised)
      throw refuse(
        'digest',
        null,
        `has the manifest ${plan.manifest ?? 'of no digest'}, and its name says ${promised}`,
      );
    const tree = new Tree(limits);
    const left: Omissions = { devices: 0, privileges: 0 };
    const pool = { directory: join(staging, 'pool'), count: 0 };
    mkdirSync(pool.directory, { mode: 0o700 });
    Object.assign(progress, { step: 'unpacking', layers: plan.layers.length });
    for (const layer of plan.layers) {
      progress.layer++;
      await applyLayer(layer.name, layer.open(meter), tree, pool, left);
    }
    const names = tree.root.children.size;
    if (names === 0) throw refuse('not-an-image', null, 'holds no files');
    if (names > limits.rootNames)
      throw refuse('entries', null, `has ${names} names in its root; ${limits.rootNames} are the most`);
    hooks.onProgress({ ...progress, step: 'writing', bytes: meter.unpackedBytes });
    const root = join(staging, 'root');
    const written = await writeTree(tree.root, root, plan.env, hooks.signal);
    await flush(root);
    requireGoingOn(hooks.signal);
    return { ...written, root, form: plan.form, env: plan.env, notes: renderNotes(left) };
  } finally {
    await carrier.close();
  }
}

/** All of a file system at once: a machine that loses power must not find a name that leads to empty files. */
async function flush(path: string): Promise<void> {
  // A system without coreutils takes the risk; the files are whole for everyone until then.
  await run('/usr/bin/sync', ['-f', path]).catch(() => undefined);
}

/** OCI first: newer `docker save` writes both, and only OCI has a digest for everything. */
async function planImage(carrier: Carrier, name: string, limits: ImageLimits): Promise<ImagePlan> {
  if (await isOci(carrier)) return planOci(carrier, name, limits);
  const docker = await planDocker(carrier, name, limits);
  if (docker !== null) return docker;
  const { whole } = carrier;
  if (whole === null) throw refuse('not-an-image', null, 'is a directory without oci-layout and index.json');
  const layer = { name: 'file', open: (meter: Meter) => requireEnd(unpack('file', whole(), meter)) };
  return { form: 'rootfs', manifest: null, env: {}, layers: [layer] };
}

/** No digest says how long a plain tar is: one that was cut between two entries lacks only the blocks of zeros. */
async function* requireEnd(tar: Chunks): AsyncGenerator<Buffer> {
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of tar) {
    tail = Buffer.concat([tail, chunk.subarray(-END_BYTES)]).subarray(-END_BYTES);
    yield chunk;
  }
  if (tail.some(byte => byte !== 0)) throw refuse('tar', null, 'is a tar that was cut off');
}

function renderNotes({ devices, privileges }: Omissions): string[] {
  const notes: string[] = [];
  if (devices > 0) notes.push(`${devices} device nodes and FIFOs were left out`);
  if (privileges > 0) notes.push(`${privileges} files lost their setuid or setgid bit`);
  return notes;
}
