import { execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Layer } from '../../src/layers/index.ts';
import { NOBODY } from '../support/drivers.ts';
import { PackageServer } from '../support/packages.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { ensure, SILENT, siteOf } from '../support/workshop.ts';

tidy();
const skip = !existsSync('/usr/bin/bwrap');
const server = new PackageServer();
const call = promisify(execFile);
const CHILD = ['--no-warnings', join(import.meta.dirname, '../support/layer-child.ts')];
const isRoot = process.getuid?.() === 0;
/** What the child makes in temporary places is this file's to remove. */
const childEnv = (tmp: string) => ({ PATH: process.env.PATH, TMPDIR: tmp });
const files = { 'requirements.txt': 'slow\n' };

beforeAll(async () => {
  await server.start();
  server.addWheel('slow', '1.0', { 'slow.py': '' });
});
afterAll(() => server.close());
const downloads = () => server.requests.filter(url => url.endsWith('.whl')).length;

describe.skipIf(skip)('concurrent builds', () => {
  test('SB-07 of one process build once', async () => {
    const site = siteOf(server);
    const before = downloads();
    const layers = await Promise.all([ensure(site, files), ensure(site, files), ensure(site, files)]);
    expect(layers.filter(layer => layer.built)).toHaveLength(1);
    expect(new Set(layers.map(layer => layer.path)).size).toBe(1);
    expect(downloads() - before).toBe(1);
  });

  test('SB-07 of several processes build once', async () => {
    const directory = join(tempDir('layers'), 'layers');
    const before = downloads();
    const env = childEnv(tempDir('child'));
    const answers = await Promise.all(
      [1, 2].map(() => call(process.execPath, [...CHILD, directory, server.pip], { env })),
    );
    const layers = answers.map(({ stdout }) => JSON.parse(stdout) as Layer);
    expect(layers.filter(layer => layer.built)).toHaveLength(1);
    expect(downloads() - before).toBe(1);
  }, 40_000);

  test.skipIf(!isRoot)(
    'SB-07 an ordinary user builds as well',
    async () => {
      const home = tempDir('layers', 0o755);
      const tmp = tempDir('child', 0o755);
      for (const path of [home, tmp]) chownSync(path, NOBODY, NOBODY);
      const user = { uid: NOBODY, gid: NOBODY, cwd: '/', env: childEnv(tmp) };
      const { stdout } = await call(process.execPath, [...CHILD, join(home, 'layers'), server.pip], user);
      const layer = JSON.parse(stdout) as Layer;
      expect(layer.built).toBe(true);
      expect(statSync(join(layer.path, 'slow.py'))).toMatchObject({ uid: NOBODY, gid: NOBODY });
    },
    40_000,
  );

  test('SB-07 a process that dies while it builds leaves a lock and a work folder that the next one clears', async () => {
    const directory = join(tempDir('layers'), 'layers');
    const child = spawn(process.execPath, [...CHILD, directory, server.pip], { env: childEnv(tempDir('child')) });
    const work = join(directory, 'work');
    await expect.poll(() => existsSync(work) && readdirSync(work).length, { timeout: 15_000, interval: 20 }).toBe(1);
    child.kill('SIGKILL');
    await new Promise(resolve => child.once('exit', resolve));
    const site = siteOf(server, { directory });
    await site.layers.sweep();
    expect(readdirSync(work)).toEqual([]);
    expect((await ensure(site, files)).built).toBe(true);
  }, 40_000);

  test('SB-07 a canceled build ends, and the next one builds', async () => {
    const site = siteOf(server);
    const controller = new AbortController();
    const hooks = { onProgress: () => controller.abort(), signal: controller.signal };
    await expect(ensure(site, files, hooks)).rejects.toMatchObject({ code: 'DEPENDENCIES_FAILED' });
    expect((await ensure(site, files, SILENT)).built).toBe(true);
  });

  test('SB-07 a layer that was removed is built again from the recorded lock', async () => {
    const site = siteOf(server);
    server.addWheel('growing', '1.0', { 'growing.py': 'version = 1' });
    const wanted = { 'requirements.txt': 'growing\n' };
    const first = await ensure(site, wanted);
    server.addWheel('growing', '2.0', { 'growing.py': 'version = 2' });
    await call('rm', ['-rf', join(first.path, '..')]);
    const again = await ensure(site, wanted);
    expect(again).toEqual(first);
    expect(existsSync(join(again.path, 'growing-1.0.dist-info'))).toBe(true);
  });

  test('what is not a layer in the data directory is left alone by a sweep', async () => {
    const site = siteOf(server);
    mkdirSync(join(site.directory, 'work/mine'), { recursive: true });
    writeFileSync(join(site.directory, 'work/mine/x'), '');
    await site.layers.sweep();
    expect(existsSync(join(site.directory, 'work/mine/x'))).toBe(true);
  });
});
