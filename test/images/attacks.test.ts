import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { dockerParts, type Lies, ociImage, ociParts, simpleOci, tarOf, writeParts } from './make-image.ts';
import { dir, file, fixSums, hard, link, makeTar, sha256, type TarItem } from './make-tar.ts';
import { Scratch } from './scratch.ts';

const scratch = new Scratch();
const unsafe = (reason: string) => ({ code: 'IMAGE_UNSAFE', reason });
const tooLarge = (reason: string) => ({ code: 'IMAGE_TOO_LARGE', reason });

/** Refused as a plain root, and, cut in two, as two layers: no layer may finish what another began. */
async function refusedBothWays(items: TarItem[]): Promise<unknown[]> {
  const layers = [items.slice(0, -1), items.slice(-1)].map(layer => makeTar(layer));
  return [await scratch.refuse(makeTar(items)), await scratch.refuse(tarOf(dockerParts(layers)))];
}

describe('X-14 attacks: paths and links in images', () => {
  const cases: [string, string, TarItem[]][] = [
    ['an absolute path', 'name', [file('ok'), file('/etc/cron.d/x')]],
    ['a path that climbs', 'name', [file('ok'), file('a/../../x')]],
    ['a path that climbs and stays inside', 'name', [file('ok'), file('a/../x')]],
    ['a directory that climbs', 'name', [file('ok'), dir('..')]],
    ['a name given by an extended header', 'name', [file('ok'), { ...file('harmless'), pax: { path: '../../x' } }]],
    ['a NUL in an extended header', 'name', [file('ok'), { ...file('harmless'), pax: { path: 'a\0b' } }]],
    ['a name that is no UTF-8', 'name', [file('ok'), { ...file(''), rawName: Buffer.from([0x61, 0xff, 0xfe]) }]],
    ['a name of 256 bytes', 'name', [file('ok'), file('x'.repeat(256))]],
    ['a path of 4000 bytes', 'name', [file('ok'), file(`${'x'.repeat(99)}/`.repeat(40))]],
    ['a path of 200 levels', 'name', [file('ok'), file(`${'a/'.repeat(200)}f`)]],
    ['a link, then a write through it', 'link-parent', [link('out', '/tmp'), file('out/skillbox-escape')]],
    ['a relative link, then a write', 'link-parent', [link('out', '../../..'), file('out/skillbox-escape')]],
    ['a chain of links, then a write', 'link-parent', [link('a', 'b'), link('b', '/tmp'), file('a/x')]],
    ['a link, then a directory in it', 'link-parent', [link('out', '/tmp'), dir('out/skillbox-escape')]],
    ['a link, then a link in it', 'link-parent', [link('out', '/tmp'), link('out/x', 'y')]],
    ['a link, then a hard link in it', 'link-parent', [file('f'), link('out', '/tmp'), hard('out/x', 'f')]],
    ['a hard link to a file behind a link', 'link-parent', [link('out', '/etc'), hard('x', 'out/passwd')]],
    ['a whiteout behind a link', 'link-parent', [link('out', '/tmp'), file('out/x/.wh.victim', '')]],
    ['a write through a file', 'file-parent', [file('a'), file('a/b')]],
    ['a hard link to the host', 'name', [file('ok'), hard('x', '/etc/passwd')]],
    ['a hard link that climbs', 'name', [file('ok'), hard('x', '../../../etc/passwd')]],
    ['a hard link to nothing', 'link-target', [file('ok'), hard('x', 'gone')]],
    ['a hard link to a directory', 'link-target', [dir('d'), hard('x', 'd')]],
    ['a hard link to itself', 'link-target', [file('ok'), hard('x', 'x')]],
    ['a link to nothing', 'link-target', [file('ok'), link('x', '')]],
    ['a link of 5000 bytes', 'link-target', [file('ok'), link('x', 'a'.repeat(5000))]],
    ['a whiteout of the directory itself', 'whiteout', [file('d/a'), file('d/.wh..', '')]],
    ['a whiteout of its parent', 'whiteout', [file('d/a'), file('d/.wh...', '')]],
    ['a whiteout without a name', 'whiteout', [file('d/a'), file('d/.wh.', '')]],
    ['a file inside a whiteout', 'whiteout', [file('d/a'), file('.wh.d/x')]],
    ['a root that is a link', 'type', [file('ok'), link('./', '/tmp')]],
    ['an unknown type', 'type', [file('ok'), { name: 'x', type: 'S' }]],
    ['a sparse file', 'type', [file('ok'), { ...file('x'), pax: { 'GNU.sparse.major': '1' } }]],
  ];
  for (const [title, reason, items] of cases) {
    test(`${title} is refused, and nothing is left`, async () => {
      expect(await refusedBothWays(items)).toEqual([unsafe(reason), unsafe(reason)]);
    });
  }

  test('the parent that is a link is refused also where the link is in the layer above', async () => {
    const layers = [[file('d/x')], [link('d', '/tmp')], [file('d/skillbox-escape')]].map(layer => makeTar(layer));
    expect(await scratch.refuse(tarOf(dockerParts(layers)))).toEqual(unsafe('link-parent'));
  });

  test('devices and FIFOs are left out, and hide what lay below them', async () => {
    const devices = ['3', '4', '6'].map(type => ({ name: `dev/${type}`, type }));
    const layers = [[file('ok'), file('dev/3')], devices].map(layer => makeTar(layer));
    expect(await scratch.unpack(tarOf(dockerParts(layers)))).toEqual({ dev: '/', ok: 'ok' });
  });
});

describe('X-14 attacks: digests, documents and blobs of images', () => {
  const layer = makeTar([file('bin/sh', 'shell', 0o755)]);
  const other = makeTar([file('bin/sh', 'evil!', 0o755)]);

  test('a docker layer that is not its diff_id is refused', async () => {
    const lies: Lies = { diffIds: [`sha256:${sha256(other)}`] };
    expect(await scratch.refuse(tarOf(dockerParts([layer], lies)))).toEqual(unsafe('digest'));
  });

  test('a docker config that is not what its name says is refused', async () => {
    const parts = Object.entries(dockerParts([layer])).map(([name, data]) =>
      name.length === 69 ? [name, `${String(data)} `] : [name, data],
    );
    expect(await scratch.refuse(tarOf(Object.fromEntries(parts)))).toEqual(unsafe('digest'));
  });

  for (const which of ['manifest', 'config', 'layer']) {
    test(`an OCI ${which} whose bytes changed, or grew, is refused`, async () => {
      const parts = simpleOci([layer]);
      const blobs = Object.keys(parts).filter(name => name.startsWith('blobs/'));
      const name = blobs[['config', 'layer', 'manifest'].indexOf(which)] ?? '';
      const honest = Buffer.from(parts[name] ?? '');
      const changed = Buffer.from(honest);
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      expect(await scratch.refuse(tarOf({ ...parts, [name]: changed }))).toEqual(unsafe('digest'));
      const grown = Buffer.concat([honest, Buffer.alloc(512)]);
      expect(await scratch.refuse(tarOf({ ...parts, [name]: grown }))).toEqual(unsafe('size'));
    });
  }

  test('a blob that is not there, and a digest of another kind or with a path in it, are refused', async () => {
    const { parts, descriptor } = ociImage([layer]);
    const refusal = (digest: string) => scratch.refuse(tarOf(ociParts([{ ...descriptor, digest }], parts)));
    expect(await refusal(`sha256:${'0'.repeat(64)}`)).toEqual(unsafe('missing-blob'));
    for (const digest of ['md5:00', 'sha256:../../../../etc/passwd', `sha256:${'A'.repeat(64)}`, '', '__proto__'])
      expect(await refusal(digest)).toEqual(unsafe('manifest'));
  });

  test('more or fewer layers than the config names are refused', async () => {
    const id = `sha256:${sha256(layer)}`;
    for (const diffIds of [[], [id, id]])
      expect(await scratch.refuse(tarOf(dockerParts([layer], { diffIds })))).toEqual(unsafe('manifest'));
  });

  test('another platform is refused, in a config and in an index', async () => {
    expect(await scratch.refuse(tarOf(simpleOci([layer], { architecture: 's390x' })))).toEqual(unsafe('platform'));
    expect(await scratch.refuse(tarOf(dockerParts([layer], { os: 'windows' })))).toEqual(unsafe('platform'));
    const { parts, descriptor } = ociImage([layer]);
    const platform = { os: 'linux', architecture: 's390x' };
    expect(await scratch.refuse(tarOf(ociParts([{ ...descriptor, platform }], parts)))).toEqual(unsafe('platform'));
  });

  test('an index that leads to too many manifests is refused', async () => {
    const { parts, descriptor } = ociImage([layer]);
    expect(await scratch.refuse(tarOf(ociParts(Array(300).fill(descriptor), parts)))).toEqual(unsafe('manifest'));
  });

  test('documents that are no JSON, or of the wrong types, or very deep, are refused', async () => {
    const { parts } = ociImage([layer]);
    for (const index of ['{', '[]', '{"manifests":{}}', '{"manifests":[1]}', '['.repeat(100_000)])
      expect(await scratch.refuse(tarOf({ ...ociParts([], parts), 'index.json': index }))).toEqual(unsafe('manifest'));
  });

  test('an OCI directory is read without following links, and a FIFO does not hang it', async () => {
    const parts = simpleOci([layer]);
    const blob = Object.keys(parts).find(name => name.startsWith('blobs/')) ?? '';
    for (const trick of ['link', 'fifo'] as const) {
      const directory = writeParts(scratch.directory(), { ...parts, [blob]: '' });
      execFileSync('rm', [join(directory, blob)]);
      if (trick === 'link') {
        writeFileSync(join(directory, 'elsewhere'), parts[blob] ?? '');
        symlinkSync(join(directory, 'elsewhere'), join(directory, blob));
        expect(await scratch.refuse(directory)).toEqual(unsafe('missing-blob'));
      } else {
        execFileSync('mkfifo', [join(directory, blob)]);
        const done = await Promise.race([
          importLayout(directory),
          new Promise(resolve => setTimeout(resolve, 5000, 0)),
        ]);
        expect(done).toBe('missing-blob');
      }
    }
  });

  test('what is no image at all is refused', async () => {
    expect(await scratch.refuse(Buffer.from('hello'))).toEqual(unsafe('tar'));
    expect(await scratch.refuse(Buffer.alloc(0))).toEqual(unsafe('not-an-image'));
    expect(await scratch.refuse(Buffer.alloc(10_240))).toEqual(unsafe('not-an-image'));
    expect(await scratch.refuse(scratch.directory())).toEqual(unsafe('not-an-image'));
    const directory = scratch.directory();
    mkdirSync(join(directory, 'index.json'));
    expect(await scratch.refuse(directory)).toEqual(unsafe('not-an-image'));
  });

  test('a tar that ends too early, or lies about a size, is refused', async () => {
    const whole = makeTar([file('a', 'x'.repeat(5000)), file('b')]);
    for (const length of [700, 5000, 6500])
      expect(await scratch.refuse(whole.subarray(0, length))).toEqual(unsafe('tar'));
    expect(await scratch.refuse(makeTar([{ ...file('a'), size: 1e9 }]))).toEqual(unsafe('tar'));
    expect(await scratch.refuse(makeTar([{ ...file('a'), pax: { size: '-5' } }]))).toEqual(unsafe('tar'));
    for (const type of ['0', '5', 'L', 'K', 'x', 'g'])
      for (const first of [0x9d, 0xff, 0x80]) {
        const noNumber = makeTar([{ name: 'a', type, data: 'b' }, file('c', 'x'.repeat(2000)), file('d')]);
        noNumber.fill(0xee, 125, 136); // null, less than nothing, or more than there is
        noNumber[124] = first;
        fixSums(noNumber);
        expect(await scratch.refuse(noNumber), `${type} ${first}`).toEqual(unsafe('tar'));
      }
    expect(await scratch.refuse(gzipSync(whole).subarray(0, 60))).toEqual(unsafe('compression'));
    // At the border of an entry only the missing end shows it.
    expect(await scratch.refuse(makeTar([file('a'), file('b')], false))).toEqual(unsafe('tar'));
  });
});

async function importLayout(directory: string): Promise<unknown> {
  const images = scratch.open();
  try {
    return await images.import('x:1', directory, { onProgress: () => undefined, signal: null });
  } catch (error) {
    return (error as { details: { reason: unknown } }).details.reason;
  } finally {
    images.close();
  }
}

describe('X-14 attacks: parts of an image that is a directory', () => {
  const layer = makeTar([file('a')]);

  test.each([
    ['a NUL', 'a\0b'],
    ['more than a name has', 'x'.repeat(300)],
    ['more than a path has', 'x/'.repeat(3000)],
    ['a file as a directory', 'manifest.json/x'],
  ])('a part whose name holds %s is not there', async (_what, name) => {
    const parts = dockerParts([layer]);
    const [entry] = JSON.parse(String(parts['manifest.json'])) as object[];
    for (const lie of [{ Config: name }, { Layers: [name] }]) {
      const at = writeParts(scratch.directory(), {
        ...parts,
        'manifest.json': JSON.stringify([{ ...entry, ...lie }]),
      });
      expect(await scratch.refuse(at)).toEqual(unsafe('missing-blob'));
    }
  });

  test('an image behind a file, and none at all, are not found', async () => {
    for (const path of [join(scratch.write(layer), 'x'), join(scratch.directory(), 'gone')])
      expect(await scratch.refuse(path)).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('X-14 attacks: bombs in images', () => {
  const zeros = makeTar([file('zeros', Buffer.alloc(4 * 1024 ** 2))]);
  const small = { ratioFreeBytes: 1024 ** 2 };

  test('much from little: gzip and zstd, as a layer, as the file, and as one in the other', async () => {
    for (const pack of [gzipSync, zstdCompressSync]) {
      expect(await scratch.refuse(tarOf(dockerParts([zeros], { pack })), small)).toEqual(tooLarge('ratio'));
      expect(await scratch.refuse(pack(zeros), small)).toEqual(tooLarge('ratio'));
      expect(await scratch.refuse(gzipSync(tarOf(simpleOci([zeros], { pack }))), small)).toEqual(tooLarge('ratio'));
    }
  });

  test('too many bytes in all, over several layers', async () => {
    const layers = [1, 2, 3].map(n => makeTar([file(`f${n}`, Buffer.alloc(40_000, n))]));
    expect(await scratch.refuse(tarOf(dockerParts(layers)), { bytes: 100_000 })).toEqual(tooLarge('bytes'));
  });

  test('too many entries, layers, names of one file, and directories that no entry names', async () => {
    const many = Array.from({ length: 50 }, (_, n) => file(`f${n}`, ''));
    expect(await scratch.refuseRoot(many, { entries: 49 })).toEqual(tooLarge('entries'));
    const deep = Array.from({ length: 5 }, (_, n) => file(`${n}/${'d/'.repeat(20)}f`, ''));
    expect(await scratch.refuseRoot(deep, { entries: 49 })).toEqual(tooLarge('entries'));
    const layers = Array.from({ length: 5 }, () => makeTar([file('a')]));
    expect(await scratch.refuse(tarOf(dockerParts(layers)), { layers: 4 })).toEqual(tooLarge('layers'));
    const names = Array.from({ length: 5 }, (_, n) => hard(`h${n}`, 'a'));
    expect(await scratch.refuseRoot([file('a'), ...names], { links: 5 })).toEqual(tooLarge('links'));
  });

  test('more names in its root than a run can have mounts', async () => {
    const names = (count: number) => makeTar(Array.from({ length: count }, (_, n) => file(`f${n}`, '')));
    expect(await scratch.refuse(names(2049))).toEqual(tooLarge('entries'));
    expect(Object.keys(await scratch.unpack(names(2048)))).toHaveLength(2048);
  });

  test('documents larger than documents are', async () => {
    const { parts } = ociImage([zeros]);
    const index = `{"manifests":[]${' '.repeat(2000)}}`;
    const limits = { documentBytes: 1000 };
    expect(await scratch.refuse(tarOf({ ...ociParts([], parts), 'index.json': index }), limits)).toEqual(
      tooLarge('document'),
    );
  });

  test('headers larger than headers are', async () => {
    const long = { ...file('a'), pax: { comment: 'x'.repeat(5 * 1024 ** 2) } };
    expect(await scratch.refuseRoot([long])).toEqual(unsafe('tar'));
    const keys = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, '']));
    expect(await scratch.refuseRoot([{ ...file('a'), pax: keys }])).toEqual(unsafe('tar'));
  });
});
