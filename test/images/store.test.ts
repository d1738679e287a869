import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { DEFAULT_IMAGE_LIMITS, findProgram, openImages, type Progress } from '../../src/images/index.ts';
import { normalName, requireName } from '../../src/images/names.ts';
import { ociImage, ociParts, writeParts } from './make-image.ts';
import { file, link, makeTar, sha256 } from './make-tar.ts';
import { HOOKS, Scratch } from './scratch.ts';

const scratch = new Scratch();
const one = scratch.write(makeTar([file('a', 'one')]));
const two = scratch.write(makeTar([file('a', 'two')]));

/** Another process on the same directory: it has its own connection, and may be dead. */
const another = (directory: string, owner: string, alive: (owner: string) => boolean) =>
  openImages({
    directory,
    owners: { mine: () => owner, isAlive: alive },
    limits: DEFAULT_IMAGE_LIMITS,
    before: async () => undefined,
  });

const blobOf = (digest: string) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
const kept = (directory: string) => readdirSync(directory).filter(name => !name.startsWith('images.db'));

describe('X-14 images that are kept', () => {
  test('equal files are kept once, under as many names as wanted', async () => {
    const images = scratch.open();
    const { image } = await images.import('a:1', one, HOOKS);
    await images.import('docker.io/library/b', one, HOOKS);
    expect(images.list().map(({ name, digest, source }) => [name, digest, source])).toEqual([
      ['a:1', image.digest, one],
      ['b:latest', image.digest, one],
    ]);
    expect(kept(images.directory)).toEqual([image.digest]);
    expect((await images.remove('a:1'))?.name).toBe('a:1');
    expect(kept(images.directory)).toEqual([image.digest]);
    await images.remove('b');
    expect(kept(images.directory)).toEqual([]);
    expect(await images.remove('b')).toBeNull();
    images.close();
  });

  test('a name that is given anew leaves nothing of the old image', async () => {
    const images = scratch.open();
    await images.import('a:1', one, HOOKS);
    const { image } = await images.import('a:1', two, HOOKS);
    expect(kept(images.directory)).toEqual([image.digest]);
    images.close();
  });

  test('an image in use is not removed; one that lost its name goes with its last user', async () => {
    const images = scratch.open();
    const { image } = await images.import('a:1', one, HOOKS);
    const release = images.hold(image.digest);
    await expect(images.remove('a:1')).rejects.toMatchObject({ code: 'IMAGE_IN_USE' });
    expect(images.find('a:1')?.digest).toBe(image.digest);
    await images.import('a:1', two, HOOKS);
    expect(existsSync(images.rootOf(image.digest))).toBe(true);
    release?.();
    expect(existsSync(images.rootOf(image.digest))).toBe(false);
    expect(images.hold(image.digest)).toBeNull();
    images.close();
  });

  test('what a dead process held, or left half imported, is cleared; a living one is left alone', async () => {
    const images = scratch.open();
    const { image } = await images.import('a:1', one, HOOKS);
    another(images.directory, 'dead', () => true).hold(image.digest);
    for (const owner of ['dead', 'me']) {
      mkdirSync(join(images.directory, `.import-${owner}`));
      writeFileSync(join(images.directory, `.import-${owner}`, 'owner'), owner);
    }
    await images.remove('a:1');
    expect(kept(images.directory)).toEqual(['.import-me']);
    images.close();
  });

  test('several processes import and remove at once, and the names agree with the files in the end', async () => {
    const images = scratch.open();
    const stores = Array.from({ length: 4 }, (_, n) => another(images.directory, `p${n}`, () => true));
    await Promise.all(
      stores.flatMap((store, n) => [
        store.import(`n${n}:1`, n % 2 === 0 ? one : two, HOOKS),
        store.import('same:1', n % 2 === 0 ? one : two, HOOKS).then(() => store.remove('same:1')),
      ]),
    );
    const named = new Set(images.list().map(({ digest }) => digest));
    expect(images.list().map(({ name }) => name)).toEqual(['n0:1', 'n1:1', 'n2:1', 'n3:1']);
    expect(new Set(kept(images.directory))).toEqual(named);
    for (const store of [...stores, images]) store.close();
  });

  test('an import whose process is killed leaves no image, and the next one clears what it left', async () => {
    const images = scratch.open();
    const big = scratch.write(makeTar(Array.from({ length: 20_000 }, (_, n) => file(`d${n % 50}/f${n}`, 'x'))));
    const script = `
      import { openImages, DEFAULT_IMAGE_LIMITS as limits } from ${JSON.stringify(join(import.meta.dirname, '../../src/images/index.ts'))};
      const owners = { mine: () => 'dead', isAlive: () => true };
      const onProgress = ({ step, bytes }) => step === 'unpacking' && bytes > 1e6 && process.kill(process.pid, 'SIGKILL');
      await openImages({ directory: ${JSON.stringify(images.directory)}, owners, limits, before: async () => undefined }).import('a:1', ${JSON.stringify(big)}, { onProgress, signal: null });`;
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
    expect(signal).toBe('SIGKILL');
    expect(kept(images.directory)).toEqual([expect.stringMatching(/^\.import-/)]);
    expect(images.list()).toEqual([]);
    const { image } = await images.import('a:1', one, HOOKS);
    expect(kept(images.directory)).toEqual([image.digest]);
    images.close();
  });

  test('an import that is canceled leaves nothing', async () => {
    const images = scratch.open();
    const signal = AbortSignal.abort();
    await expect(images.import('a:1', one, { ...HOOKS, signal })).rejects.toMatchObject({ code: 'CANCELED' });
    expect(kept(images.directory)).toEqual([]);
    images.close();
  });

  test('an import is canceled while it writes, and has no name then', async () => {
    const images = scratch.open();
    const controller = new AbortController();
    const onProgress = ({ step }: Progress) => step === 'writing' && controller.abort();
    await expect(images.import('a:1', one, { onProgress, signal: controller.signal })).rejects.toMatchObject({
      code: 'CANCELED',
    });
    expect([images.list(), kept(images.directory)]).toEqual([[], []]);
    images.close();
  });

  test('an import of a file of holes is canceled too: it has no entry, and no end that is soon reached', async () => {
    const holes = scratch.write(Buffer.alloc(0));
    truncateSync(holes, 400 * 1024 ** 3);
    const images = scratch.open();
    const packed = scratch.write(gzipSync(makeTar([file('a', 'x')])));
    truncateSync(packed, 400 * 1024 ** 3);
    for (const path of [holes, packed]) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 200);
      const canceled = images.import('a:1', path, { ...HOOKS, signal: controller.signal });
      await expect(canceled).rejects.toMatchObject({ code: 'CANCELED' });
    }
    expect(kept(images.directory)).toEqual([]);
    images.close();
  });

  test('a layer that is larger than an image may be is refused before its digest is looked at', async () => {
    const { parts, descriptor } = ociImage([makeTar([file('a', 'x')])]);
    const at = writeParts(scratch.directory(), ociParts([descriptor], parts));
    const manifest = JSON.parse(String(parts[blobOf(descriptor.digest)])) as {
      layers: { digest: string; size: number }[];
    };
    const [layer] = manifest.layers;
    if (layer === undefined) throw new Error('no layer');
    truncateSync(join(at, blobOf(layer.digest)), 400 * 1024 ** 3);
    layer.size = 400 * 1024 ** 3;
    const text = JSON.stringify(manifest);
    const digest = `sha256:${sha256(text)}`;
    writeFileSync(join(at, blobOf(digest)), text);
    writeFileSync(
      join(at, 'index.json'),
      JSON.stringify({ manifests: [{ ...descriptor, digest, size: Buffer.byteLength(text) }] }),
    );
    const images = scratch.open();
    await expect(images.import('a:1', at, HOOKS)).rejects.toMatchObject({ code: 'IMAGE_TOO_LARGE' });
    images.close();
  });

  test('names have one spelling, and what is none is refused', () => {
    expect(['python', 'docker.io/python', 'index.docker.io/library/python:latest'].map(normalName)).toEqual(
      Array(3).fill('python:latest'),
    );
    expect(normalName('localhost:5000/a/b')).toBe('localhost:5000/a/b:latest');
    for (const name of ['', '../x', '-x', 'a b', 'a\nb', '/a', 'a/', `a${'b'.repeat(300)}`])
      expect(() => requireName(name), name).toThrow(/no name of an image/);
  });

  test('a name with a digest that cannot be read holds the image to nothing, and is refused', () => {
    const hex = 'a'.repeat(64);
    expect(requireName(`x@sha256:${hex}`)).toBe(`x@sha256:${hex}`);
    for (const digest of [
      'abc',
      'sha256:abc',
      `sha256:${hex.toUpperCase()}`,
      `sha512:${hex}`,
      `sha256:${hex}:1`,
      `${hex}`,
    ])
      expect(() => requireName(`x@${digest}`), digest).toThrow(/digest that is none/);
  });

  test('a program is looked for inside the image, and its links never lead to the host', async () => {
    const images = scratch.open();
    const items = [
      file('usr/bin/tool', 'x', 0o755),
      file('usr/bin/data', 'x', 0o644),
      link('bin', 'usr/bin'),
      link('usr/bin/alias', '/bin/tool'),
      link('usr/bin/host', '/../../../../../../bin/sh'),
      link('usr/bin/loop', 'loop'),
    ];
    const { image } = await images.import('a:1', scratch.write(makeTar(items)), HOOKS);
    const find = (name: string) => findProgram(images.rootOf(image.digest), name, '/sbin:/bin');
    expect(['tool', 'alias', 'data', 'host', 'loop', 'none', 'usr'].map(find)).toEqual([
      '/bin/tool',
      '/bin/alias',
      ...Array(5).fill(null),
    ]);
    images.close();
  });
});
