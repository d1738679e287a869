import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { openEngine } from '../../src/sandbox/docker-api.ts';
import { engineImage, sweepImages } from '../../src/sandbox/docker-image.ts';
import { run } from '../fake-io.ts';
import { DOCKER, DOCKER_SOCKET, PODMAN, PODMAN_SOCKET } from '../support/drivers.ts';
import { skipUnless } from '../support/require.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { simpleOci, writeParts } from './make-image.ts';
import { dir, file, link, makeTar } from './make-tar.ts';

const BUSYBOX = '/usr/bin/busybox';
const noBusybox = skipUnless(existsSync(BUSYBOX), 'busybox', 'busybox-static is not installed');

const SCRIPT = `
echo "{\\"release\\": \\"$(cat /etc/release)\\", \\"flavour\\": \\"$FLAVOUR\\", \\"tool\\": \\"$(tool)\\", \\"uid\\": $(id -u)}" > "$SANDBOX_OUTPUT"
for place in /etc/release /etc/new /bin/busybox /opt/new /new; do
  if echo x 2>/dev/null > "$place"; then echo "wrote $place"; fi
done
[ -e /usr/bin/python3 ] && echo "sees another image"
[ -u /bin/busybox ] && echo "set-uid"
cat /etc/private
`;

type EngineImage = { Id: string; RepoTags: string[] | null };

for (const [driver, socket] of [
  [DOCKER, DOCKER_SOCKET],
  [PODMAN, PODMAN_SOCKET],
] as const)
  describe.skipIf((driver.skip ?? noBusybox) !== null)(`an imported image under ${driver.name}`, () => {
    const base = tempDirectory();
    const env = {
      SKILLBOX_DATA_DIR: join(base, 'data'),
      SKILLBOX_DOCKER_SOCKET: socket,
      SKILLBOX_DOCKER_IMAGE: process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test',
    };
    const engine = openEngine(socket);
    const skill = (image: string, name: string) => {
      const text = `---\nname: in-an-image\nversion: 1.0.0\ndescription: Says where it runs.\nlang: bash\nimage: ${image}\n---\n\n# Hello\n`;
      return writeFiles(join(base, name), { 'SKILL.md': text, 'scripts/main.sh*': SCRIPT });
    };
    const loaded = (digest: string) =>
      engine.call<EngineImage[]>(
        'GET',
        `/images/json?filters=${encodeURIComponent(JSON.stringify({ label: [`dev.skillbox.image=${digest}`] }))}`,
      );
    const digestOf = async (name: string): Promise<string> => {
      const { images } = JSON.parse((await run(['image', 'list', '--json'], { env })).out);
      return images.find((one: { name: string }) => one.name === name).digest.slice('sha256:'.length);
    };
    const runIt = async (image: string, name: string) => {
      const ran = await run(['run', skill(image, name), '--sandbox', 'docker', '--json'], { env, own: true });
      return JSON.parse(ran.out);
    };

    beforeAll(async () => {
      buildHelper();
      const system = makeTar([
        file('bin/busybox', readFileSync(BUSYBOX), 0o4755),
        ...['sh', 'cat', 'id', 'chmod', 'rm'].map(name => link(`bin/${name}`, 'busybox')),
        file('bin/bash', '#!/bin/sh\nexec /bin/sh "$@"\n', 0o755),
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
      const layout = join(base, 'layout');
      writeParts(
        layout,
        simpleOci([system, changes], { env: ['PATH=/opt/bin:/bin', 'FLAVOUR=plain', 'HOME=/nowhere'] }),
      );
      expect(await run(['image', 'import', 'tiny:2', layout], { env })).toMatchObject({ code: 0 });
    });

    test('X-14 it is loaded into the engine once, and the result says which it was', async () => {
      const result = await runIt('tiny:2', 'good');
      expect(result).toMatchObject({ status: 'success', logs: 'readable\n' });
      expect(result.output).toMatchObject({ release: 'tiny 2', flavour: 'plain', tool: 'own' });
      expect(result.output.uid).not.toBe(0);
      expect(result.sandbox.runtime).toMatch(/^bash, tiny:2@sha256:[0-9a-f]{12}$/);
      const [first, second] = await loaded(await digestOf('tiny:2'));
      expect(second).toBeUndefined();
      expect(await runIt('tiny:2', 'again')).toMatchObject({ status: 'success' });
      expect(await loaded(await digestOf('tiny:2'))).toEqual([first]);
    });

    test('X-14 one that is not imported is refused, whatever the engine has, with the way to get it', async () => {
      const image = `${env.SKILLBOX_DOCKER_IMAGE}:latest`;
      expect(await runIt(image, 'not-imported')).toMatchObject({
        error: 'IMAGE_MISSING',
        hint: expect.stringContaining(`skillbox image import ${image}`),
      });
    });

    test('a tag of ours on another image is not believed', async () => {
      const digest = await digestOf('tiny:2');
      const root = join(env.SKILLBOX_DATA_DIR, 'images', digest);
      const runtime = { kind: 'image' as const, name: 'tiny:2', digest, root };
      const id = await engineImage(engine, runtime, ['/other']);
      const { RepoTags } = await engine.call<EngineImage>('GET', `/images/${encodeURIComponent(id)}/json`);
      const tag = RepoTags?.find(one => one.startsWith('skillbox.local/image:'))?.split(':')[1] ?? '';
      const source = encodeURIComponent(env.SKILLBOX_DOCKER_IMAGE);
      await engine.call('POST', `/images/${source}/tag?repo=skillbox.local/image&tag=${tag}`);
      const other = await engine.call<EngineImage>('GET', `/images/skillbox.local/image:${tag}/json`);
      expect(other.Id).not.toBe(id);
      // Loaded anew under the tag; the engine gives equal files the id that it likes.
      const again = await engineImage(engine, runtime, ['/other']);
      expect(again).not.toBe(other.Id);
      expect((await loaded(digest)).map(({ Id }) => Id)).toContain(again);
    });

    test("when its files are gone, the engine's copy goes too; others stay", async () => {
      const root = writeFiles(join(base, 'loose'), { 'bin/tool*': '#!/bin/sh\n' });
      const digest = 'f'.repeat(64);
      const id = await engineImage(engine, { kind: 'image', name: 'loose', digest, root }, []);
      await sweepImages(engine);
      expect((await loaded(digest)).map(({ Id }) => Id)).toEqual([id]);
      expect((await run(['image', 'remove', 'tiny:2'], { env })).code).toBe(0);
      await sweepImages(engine);
      expect((await loaded(digest)).map(({ Id }) => Id)).toEqual([id]);
      const { rmSync } = await import('node:fs');
      rmSync(root, { recursive: true });
      await sweepImages(engine);
      expect(await loaded(digest)).toEqual([]);
      const all = await engine.call<EngineImage[]>('GET', '/images/json');
      expect(
        all.some(({ RepoTags }) => RepoTags?.some(tag => tag.split('/').at(-1)?.startsWith(env.SKILLBOX_DOCKER_IMAGE))),
      ).toBe(true);
    });

    test('files that cannot be read stop it, and nothing half is left in the engine', async () => {
      const digest = 'e'.repeat(64);
      const missing = { kind: 'image' as const, name: 'gone', digest, root: join(base, 'nowhere') };
      await expect(engineImage(engine, missing, [])).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
      expect(await loaded(digest)).toEqual([]);
    });
  });
