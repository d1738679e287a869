import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { SkillboxError } from '../base/index.ts';
import { type Engine, EngineError } from './docker-api.ts';
import { leftOutOf } from './runtime.ts';
import type { RuntimeSpec } from './sandbox.ts';

type ImageRuntime = Extract<RuntimeSpec, { kind: 'image' }>;

const LABEL = 'dev.skillbox.image';
/** Where the files were loaded from: when that is gone, nobody wants the engine's copy either. */
const ROOT_LABEL = 'dev.skillbox.image-root';
const REPOSITORY = 'skillbox.local/image';

/** One load at a time of each image by this process; another process may load the same, and both are right. */
const loading = new Map<string, Promise<string>>();

/**
 * The engine's own id of an imported image: loaded into the engine at its first run, and found by its digest from then on.
 * `mounts` are the places of the run's own; what the image has under their names is left out, as under bubblewrap.
 */
export async function engineImage(engine: Engine, runtime: ImageRuntime, mounts: readonly string[]): Promise<string> {
  const { name, digest, root } = runtime;
  const names = await namesIn(name, root);
  const taken = leftOutOf(mounts);
  const omitted = names.filter(entry => taken.has(entry));
  const tag = tagOf(digest, omitted);
  const found = await idOf(engine, tag, digest);
  if (found !== null) return found;
  const key = `${root} ${tag}`;
  const load =
    loading.get(key) ??
    loadImage(
      engine,
      runtime,
      tag,
      names.filter(entry => !taken.has(entry)),
    );
  loading.set(key, load);
  try {
    return await load;
  } finally {
    loading.delete(key);
  }
}

async function namesIn(name: string, root: string): Promise<string[]> {
  try {
    return (await readdir(root)).sort();
  } catch (cause) {
    throw new SkillboxError('IMAGE_MISSING', `The image ${name} is not at ${root}.`, { cause });
  }
}

/** Most images have nothing in the way; one that has is another image for each set of what was left out. */
function tagOf(digest: string, omitted: readonly string[]): string {
  const shape = createHash('sha256').update(omitted.join('\0')).digest('hex').slice(0, 12);
  return `${digest}-${shape}`;
}

type Inspected = { Id: string; Config?: { Labels?: Record<string, string> | null } };

/** Only what bears our label with this digest: a tag alone can be anybody's. */
async function idOf(engine: Engine, tag: string, digest: string): Promise<string | null> {
  try {
    const image = await engine.call<Inspected>('GET', `/images/${REPOSITORY}:${tag}/json`);
    return image.Config?.Labels?.[LABEL] === digest ? image.Id : null;
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return null;
    throw error;
  }
}

async function loadImage(
  engine: Engine,
  runtime: ImageRuntime,
  tag: string,
  names: readonly string[],
): Promise<string> {
  const { name, digest, root } = runtime;
  const labels = [`LABEL ${LABEL}=${digest}`, `LABEL ${ROOT_LABEL}=${JSON.stringify(root)}`];
  const changes = labels.map(label => `&changes=${encodeURIComponent(label)}`).join('');
  const failed = (why: string, cause?: unknown) =>
    new SkillboxError('SANDBOX_FAILED', `The image ${name} could not be loaded into the engine: ${why}.`, { cause });
  try {
    // The tag in the name: Podman does not look at one beside it.
    const repository = encodeURIComponent(`${REPOSITORY}:${tag}`);
    await engine.send(`/images/create?fromSrc=-&repo=${repository}${changes}`, await packRoot(root, names));
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error), error);
  }
  const id = await idOf(engine, tag, digest);
  if (id === null) throw failed('it is not there afterwards');
  return id;
}

/** The files as they were imported: readable by all, owned by root, nothing but files, folders and links. */
async function packRoot(root: string, names: readonly string[]): Promise<Readable> {
  const { pack } = await import('tar-stream');
  const tar = pack();
  const add = async (path: string): Promise<void> => {
    const at = join(root, path);
    const stats = await lstat(at);
    const header = { name: path, mode: stats.mode & 0o777, mtime: stats.mtime, uid: 0, gid: 0 };
    if (stats.isSymbolicLink()) {
      tar.entry({ ...header, type: 'symlink', linkname: await readlink(at) });
    } else if (stats.isDirectory()) {
      tar.entry({ ...header, type: 'directory' });
      for (const child of (await readdir(at)).sort()) await add(join(path, child));
    } else if (stats.isFile()) {
      await new Promise<void>((resolve, reject) => {
        const entry = tar.entry({ ...header, size: stats.size, type: 'file' }, error =>
          error ? reject(error) : resolve(),
        );
        createReadStream(at).on('error', reject).pipe(entry);
      });
    }
  };
  const run = async () => {
    for (const name of names) await add(name);
    tar.finalize();
  };
  run().catch((error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))));
  return tar as unknown as Readable;
}

type Listed = { Id: string; RepoTags?: readonly string[] | null; Labels?: Record<string, string> | null };

/** Removes the engine's copies of images whose files are gone, and those that a second loader took the tag from. */
export async function sweepImages(engine: Engine): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [LABEL] }));
  for (const { Id, RepoTags, Labels } of await engine.call<Listed[]>('GET', `/images/json?filters=${filters}`)) {
    const root = Labels?.[ROOT_LABEL];
    const tagged = (RepoTags ?? []).some(tag => tag.startsWith(`${REPOSITORY}:`));
    if (tagged && root !== undefined && existsSync(root)) continue;
    // In use, or removed by another process at the same time: the next sweep sees.
    await engine.call('DELETE', `/images/${encodeURIComponent(Id)}?force=false&noprune=false`).catch(() => undefined);
  }
}
