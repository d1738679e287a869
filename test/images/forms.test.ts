import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ARCH, dockerParts, ociImage, ociParts, simpleOci, tarOf, writeParts } from './make-image.ts';
import { file, makeTar, sha256 } from './make-tar.ts';
import { HOOKS, look, Scratch } from './scratch.ts';

const scratch = new Scratch();
const layers = [makeTar([file('bin/sh', 'shell', 0o755)]), makeTar([file('etc/x', 'x')])];
const tree = { bin: '/', 'bin/sh': 'shell', etc: '/', 'etc/x': 'x' };

async function importOne(path: string, name = 'x:1') {
  const images = scratch.open();
  const { image } = await images.import(name, path, HOOKS);
  const seen = look(images.rootOf(image.digest));
  images.close();
  return { ...image, seen };
}

describe('X-14 forms of images', () => {
  test('docker save, OCI tar, OCI directory and plain tar give the same files and the same digest', async () => {
    const found = [
      await importOne(scratch.write(tarOf(dockerParts(layers)))),
      await importOne(scratch.write(tarOf(simpleOci(layers)))),
      await importOne(writeParts(scratch.directory(), simpleOci(layers))),
      await importOne(scratch.write(makeTar([file('./bin/sh', 'shell', 0o755), file('./etc/x', 'x')]))),
    ];
    expect(found.map(({ form }) => form)).toEqual(['docker', 'oci', 'oci', 'rootfs']);
    for (const { seen } of found) expect(seen).toEqual(tree);
    expect(new Set(found.map(({ digest }) => digest)).size).toBe(1);
  });

  test('gzip and zstd are told by their bytes: of layers, of the whole, and of both', async () => {
    for (const pack of [gzipSync, zstdCompressSync]) {
      expect(await scratch.unpack(tarOf(dockerParts(layers, { pack })))).toEqual(tree);
      expect(await scratch.unpack(tarOf(simpleOci(layers, { pack })))).toEqual(tree);
      expect(await scratch.unpack(pack(tarOf(simpleOci(layers, { pack }))))).toEqual(tree);
      expect(await scratch.unpack(pack(makeTar([file('a')])))).toEqual({ a: 'a' });
    }
  });

  test('zstd in several frames, as zstd:chunked has it, is read to its end', async () => {
    const table = Buffer.concat([Buffer.from('502a4d1804000000', 'hex'), Buffer.from('note')]);
    const pack = (bytes: Buffer) =>
      Buffer.concat([
        table,
        ...[bytes.subarray(0, 700), bytes.subarray(700)].map(part => zstdCompressSync(part)),
        table,
      ]);
    expect(await scratch.unpack(tarOf(simpleOci(layers, { pack })))).toEqual(tree);
    expect(await scratch.unpack(pack(tarOf(dockerParts(layers))))).toEqual(tree);
  });

  test('what is packed in a way that is not read is refused by its name', async () => {
    const begins: [string, string][] = [
      ['xz', 'fd377a585a000004e6d6b446'],
      ['bzip2', '425a683931415926535991b7'],
    ];
    for (const [name, hex] of begins) {
      const pack = () => Buffer.from(hex, 'hex');
      for (const data of [tarOf(simpleOci(layers, { pack })), pack()]) {
        const images = scratch.open();
        await expect(images.import('x:1', scratch.write(data), HOOKS)).rejects.toMatchObject({
          code: 'IMAGE_UNSAFE',
          message: expect.stringContaining(`is packed with ${name}`),
          details: { reason: 'compression' },
        });
        images.close();
      }
    }
    // A tar whose first name begins like that.
    expect(await scratch.unpack(makeTar([file('BZh91', 'x')]))).toEqual({ BZh91: 'x' });
  });

  test('a file that has both forms, as newer docker saves it, is read as OCI', async () => {
    const data = tarOf({ ...dockerParts([makeTar([file('old')])]), ...simpleOci(layers) });
    expect(await scratch.unpack(data)).toEqual(tree);
  });

  test('a root that happens to hold a manifest.json is a root', async () => {
    const items = [file('manifest.json', '{"name":"app"}'), file('index.json', '{}')];
    expect(await scratch.unpack(makeTar(items))).toEqual({ 'manifest.json': '{"name":"app"}', 'index.json': '{}' });
  });

  test('the manifest for this machine is chosen, also out of a nested index, and attestations are not', async () => {
    const ours = ociImage(layers);
    const theirs = ociImage([makeTar([file('other')])], { architecture: 's390x' });
    const proof = ociImage([makeTar([file('proof')])]);
    const index = JSON.stringify({
      manifests: [
        { ...theirs.descriptor, platform: { os: 'linux', architecture: 's390x' } },
        { ...proof.descriptor, platform: { os: 'unknown', architecture: 'unknown' } },
        { ...ours.descriptor, platform: { os: 'linux', architecture: ARCH } },
      ],
    });
    const mediaType = 'application/vnd.oci.image.index.v1+json';
    const nested = { mediaType, digest: `sha256:${sha256(index)}`, size: Buffer.byteLength(index) };
    const blobs = { ...ours.parts, ...theirs.parts, ...proof.parts, [`blobs/sha256/${sha256(index)}`]: index };
    expect(await scratch.unpack(tarOf(ociParts([nested], blobs)))).toEqual(tree);
  });

  test('of several images in one file the one of that name is meant; without one it is refused', async () => {
    const first = ociImage(layers);
    const second = ociImage([makeTar([file('second')])]);
    const named = (image: typeof first, tag: string) => ({
      ...image.descriptor,
      annotations: { 'io.containerd.image.name': `docker.io/library/${tag}` },
    });
    const blobs = { ...first.parts, ...second.parts };
    expect(await scratch.unpack(tarOf(ociParts([named(second, 'y:1'), named(first, 'x:1')], blobs)))).toEqual(tree);
    expect(await scratch.refuse(tarOf(ociParts([named(second, 'y:1'), named(first, 'z:1')], blobs)))).toEqual({
      code: 'IMAGE_UNSAFE',
      reason: 'several',
    });
  });

  test('images without a name are told apart by their digests', async () => {
    const [first, second] = [ociImage(layers), ociImage([makeTar([file('second')])])];
    const found = [first.descriptor, second.descriptor];
    const path = scratch.write(tarOf(ociParts(found, { ...first.parts, ...second.parts })));
    const digests = found.map(({ digest }) => digest).join(', ');
    await expect(importOne(path)).rejects.toMatchObject({ message: expect.stringContaining(digests) });
  });

  test('a name with a digest holds the image to it', async () => {
    const { parts, descriptor } = ociImage(layers);
    const path = scratch.write(tarOf(ociParts([descriptor], parts)));
    expect((await importOne(path, `x@${descriptor.digest}`)).seen).toEqual(tree);
    await expect(importOne(path, `x@sha256:${'0'.repeat(64)}`)).rejects.toMatchObject({ code: 'IMAGE_UNSAFE' });
  });

  test('the variables of the image are kept, those that are none are not', async () => {
    const env = ['PATH=/opt/bin:/bin', 'A=b=c', 'no name', '=x', 'BAD-NAME=1', 'NUL=\0'];
    const image = await importOne(scratch.write(tarOf(simpleOci(layers, { env }))));
    expect(image.env).toEqual({ PATH: '/opt/bin:/bin', A: 'b=c' });
  });

  test('large files come through whole', async () => {
    const big = Buffer.alloc(5 * 1024 ** 2 + 17, 'skillbox');
    const image = await importOne(scratch.write(tarOf(simpleOci([makeTar([file('big', big)])], { pack: gzipSync }))));
    expect(image.bytes).toBe(big.length);
  });
});
