import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { run } from '../fake-io.ts';
import { skipUnless } from '../support/require.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { simpleOci, writeParts } from './make-image.ts';
import { dir, file, link, makeTar } from './make-tar.ts';

const BUSYBOX = '/usr/bin/busybox';
const skip =
  skipUnless(existsSync('/usr/bin/bwrap'), 'bubblewrap', 'bubblewrap is not installed') ??
  skipUnless(existsSync(BUSYBOX), 'busybox', 'busybox-static is not installed');

const SCRIPT = `
echo "{\\"release\\": \\"$(cat /etc/release)\\", \\"flavour\\": \\"$FLAVOUR\\", \\"tool\\": \\"$(tool)\\", \\"uid\\": $(id -u)}" > "$SANDBOX_OUTPUT"
for place in /etc/release /etc/new /bin/busybox /opt/new /new; do
  if echo x 2>/dev/null > "$place"; then echo "wrote $place"; fi
  if chmod 777 "$place" 2>/dev/null; then echo "changed $place"; fi
  if rm -f "$place" 2>/dev/null && [ "$place" != /etc/new ] && [ "$place" != /opt/new ] && [ "$place" != /new ]; then echo "removed $place"; fi
done
[ -e /usr/bin/python3 ] && echo "sees the host"
cat /etc/private
`;

const skillOf = (image: string) =>
  `---\nname: in-an-image\nversion: 1.0.0\ndescription: Says where it runs.\nlang: bash\nimage: ${image}\n---\n\n# Hello\n`;

describe.skipIf(skip !== null)(`a real image under bubblewrap${skip === null ? '' : ` (${skip})`}`, () => {
  const base = tempDirectory();
  const env = { SKILLBOX_DATA_DIR: join(base, 'data') };
  const skill = (image: string, name: string) =>
    writeFiles(join(base, name), { 'SKILL.md': skillOf(image), 'scripts/main.sh*': SCRIPT });
  const layout = join(base, 'layout');

  beforeAll(async () => {
    buildHelper();
    const system = makeTar([
      file('bin/busybox', readFileSync(BUSYBOX), 0o4755),
      ...['sh', 'cat', 'id', 'chmod', 'rm'].map(name => link(`bin/${name}`, 'busybox')),
      // Not every image has bash; this one's is its own.
      file('bin/bash', '#!/bin/sh\nexec /bin/sh "$@"\n', 0o755),
      file('etc/release', 'old', 0o666),
      file('etc/private', 'readable\n', 0o600),
      // Where the run has its own mounts, whatever the image holds must not stand in the way.
      link('sandbox', '/etc'),
      link('tmp', '/etc'),
      file('skill', 'not a directory'),
    ]);
    const changes = makeTar([
      dir('etc'),
      file('etc/release', 'tiny 2', 0o666),
      file('opt/bin/tool', '#!/bin/sh\necho own\n', 0o755),
    ]);
    writeParts(layout, simpleOci([system, changes], { env: ['PATH=/opt/bin:/bin', 'FLAVOUR=plain', 'HOME=/nowhere'] }));
    expect(await run(['image', 'import', 'tiny:2', layout], { env })).toMatchObject({ code: 0 });
  });

  test('X-14 a skill that names an imported image runs in it, with its files and variables, and the result says so', async () => {
    const ran = await run(['run', skill('tiny:2', 'good'), '--json'], { env, own: true });
    const result = JSON.parse(ran.out);
    expect(result).toMatchObject({ status: 'success', logs: 'readable\n' });
    expect(result.output).toEqual({ release: 'tiny 2', flavour: 'plain', tool: 'own', uid: 1000 });
    expect(result.sandbox.runtime).toMatch(/^bash, tiny:2@sha256:[0-9a-f]{12}$/);
  });

  test('SB-03 nothing of the image was changed by the run', async () => {
    const { images } = JSON.parse((await run(['image', 'list', '--json'], { env })).out);
    const root = join(env.SKILLBOX_DATA_DIR, 'images', images[0].digest.slice('sha256:'.length));
    expect(readFileSync(join(root, 'etc/release'), 'utf8')).toBe('tiny 2');
    expect(existsSync(join(root, 'new')) || existsSync(join(root, 'etc/new'))).toBe(false);
    expect(readFileSync(join(root, 'bin/busybox')).equals(readFileSync(BUSYBOX))).toBe(true);
  });

  test('X-14 a default image that is not imported is the host, and the result says so', async () => {
    const ran = await run(['run', skill('bash:5', 'host'), '--json'], { env, own: true });
    expect(JSON.parse(ran.out).sandbox.runtime).toMatch(/^bash [0-9.]+, host$/);
  });

  test('X-14 any other image is refused before anything starts, with the way to get it', async () => {
    const ran = await run(['run', skill('debian:12', 'missing'), '--json'], { env, own: true });
    expect(ran.code).toBe(6);
    expect(JSON.parse(ran.out)).toMatchObject({
      error: 'IMAGE_MISSING',
      hint: expect.stringContaining('skillbox image import debian:12'),
    });
    expect((await run(['exec', 'list', '--json'], { env })).out).not.toContain('debian');
  });

  test('SB-03 the operator narrows the list; an empty one allows nothing, not even what is imported', async () => {
    const folder = skill('tiny:2', 'narrow');
    const host = skill('bash:5', 'narrow-host');
    const code = async (path: string, list: string) =>
      (await run(['run', path, '--dry-run'], { env: { ...env, SKILLBOX_IMAGES: list } })).code;
    expect(await code(folder, 'tiny:2, other')).toBe(0);
    expect(await code(host, 'tiny:2, other')).toBe(4);
    expect(await code(folder, 'other')).toBe(4);
    expect(await code(folder, '')).toBe(4);
    expect(await code(host, '')).toBe(4);
  });

  test('an image without the interpreter is refused before anything starts', async () => {
    const path = join(base, 'bare.tar');
    writeFiles(base, { 'bare.tar': makeTar([file('bin/other', 'x', 0o755)]) });
    await run(['image', 'import', 'bare', path], { env });
    const ran = await run(['run', skill('bare', 'bare'), '--json'], { env, own: true });
    expect([ran.code, JSON.parse(ran.out).error]).toEqual([6, 'RUNTIME_MISSING']);
  });

  test("an image with the interpreter and without the interpreter's loader is refused by the name of that", async () => {
    const path = join(base, 'unloadable.tar');
    writeFiles(base, { 'unloadable.tar': makeTar([file('bin/bash', '#!/lib/ld-own.so\n', 0o755)]) });
    await run(['image', 'import', 'unloadable', path], { env });
    const ran = await run(['run', skill('unloadable', 'unloadable'), '--json'], { env, own: true });
    expect([ran.code, JSON.parse(ran.out)]).toMatchObject([
      6,
      { error: 'RUNTIME_MISSING', message: expect.stringMatching(/ has \/bin\/bash, and not \/lib\/ld-own\.so/) },
    ]);
  });

  test.each([
    ['/usr/bin/bash, which is /root/own/bash; what it has in /root', link('usr/bin/bash', '../../root/own/bash')],
    ['/home/own/bash; what it has in /home', file('home/own/bash', 'x', 0o755)],
  ])(
    'an image with the interpreter where a run has a place of its own is refused by that place: %s',
    async (words, item) => {
      const name = `hidden${words.length}`;
      const path = join(base, `${name}.tar`);
      writeParts(base, { [`${name}.tar`]: makeTar([file('root/own/bash', readFileSync(BUSYBOX), 0o755), item]) });
      writeParts(join(base, `${name}-oci`), simpleOci([readFileSync(path)], { env: ['PATH=/usr/bin:/home/own'] }));
      await run(['image', 'import', name, join(base, `${name}-oci`)], { env });
      const ran = await run(['run', skill(name, name), '--json'], { env, own: true });
      expect([ran.code, JSON.parse(ran.out)]).toMatchObject([
        6,
        { error: 'RUNTIME_MISSING', message: `the image ${name} has ${words} is not there in a run` },
      ]);
    },
  );

  test.each([['only there'], ['also where others have theirs']])(
    "X-14 an interpreter is the one that the image's PATH says: %s",
    async where => {
      const name = `own-${where.split(' ')[0]}:1`;
      const system = makeTar([
        file('bin/busybox', readFileSync(BUSYBOX), 0o755),
        link('bin/sh', 'busybox'),
        file('opt/shell/bin/bash', '#!/bin/sh\necho own\nexec /bin/sh "$@"\n', 0o755),
        ...(where === 'only there' ? [] : [link('bin/bash', 'busybox')]),
      ]);
      const at = join(base, name);
      writeParts(at, simpleOci([system], { env: ['PATH=/opt/shell/bin:/bin'] }));
      await run(['image', 'import', name, at], { env });
      const folder = writeFiles(join(base, `${name}-skill`), {
        'SKILL.md': skillOf(name),
        'scripts/main.sh*': 'echo "$1 ran"',
      });
      const result = JSON.parse((await run(['run', folder, '--json'], { env, own: true })).out);
      expect(result).toMatchObject({ status: 'success', logs: 'own\n ran\n' });
      expect(result.sandbox.runtime).toContain('/opt/shell/bin/bash, own-');
    },
  );

  test('X-14 an image is not removed under a run, and is removed after it', async () => {
    const folder = writeFiles(join(base, 'slow'), {
      'SKILL.md': skillOf('busy:1'),
      'scripts/main.sh*': 'echo up; busybox sleep 1; cat /etc/release',
    });
    await run(['image', 'import', 'busy:1', layout], { env });
    await run(['image', 'remove', 'tiny:2'], { env });
    const running = run(['run', folder, '--json'], { env, own: true });
    await vi.waitUntil(async () => (await run(['exec', 'list', '--state', 'running'], { env })).out !== '', 10_000);
    expect(await run(['image', 'remove', 'busy:1'], { env })).toMatchObject({ code: 1 });
    expect(JSON.parse((await running).out).logs).toBe('up\ntiny 2');
    expect(await run(['image', 'remove', 'busy:1'], { env })).toMatchObject({ code: 0 });
    await run(['image', 'import', 'tiny:2', layout], { env });
  });

  test('an approval is for one image: another under the same name, and the run that waited does not start', async () => {
    const folder = skill('tiny:2', 'asked');
    const wait = async () => JSON.parse((await run(['run', folder, '--json'], { env })).out).execution_id;
    const [same, other] = [await wait(), await wait()];
    expect((await run(['approve', 'allow', same], { env })).code).toBe(0);
    const swapped = join(base, 'swapped');
    const system = makeTar([file('bin/busybox', readFileSync(BUSYBOX), 0o755), link('bin/bash', 'busybox')]);
    writeParts(swapped, simpleOci([system], { env: ['PATH=/bin'] }));
    await run(['image', 'import', 'tiny:2', swapped], { env });
    const ran = await run(['approve', 'allow', other], { env });
    expect(ran).toMatchObject({ code: 4, out: expect.stringContaining('not what was asked') });
    await run(['image', 'import', 'tiny:2', layout], { env });
  });

  test('the dry run names the image', async () => {
    const ran = await run(['run', skill('tiny:2', 'dry'), '--dry-run', '--json'], { env, own: true });
    expect(JSON.parse(ran.out).runtime).toBe('tiny:2');
  });
});
