import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BUILD_LIMITS } from '../../src/layers/index.ts';
import { makeTarball, PackageServer } from '../support/packages.ts';
import { tidy } from '../support/temp.ts';
import { ensure, makeSite, SILENT, siteOf, useLayer } from '../support/workshop.ts';

tidy();
const skip = !existsSync('/usr/bin/bwrap');
const server = new PackageServer();
let hash = '';

beforeAll(async () => {
  await server.start();
  hash = server.addWheel(
    'greeting',
    '1.0',
    { 'greeting/__init__.py': 'import name_of\nhello = "hello " + name_of.it\n' },
    ['name-of>=2'],
  );
  server.addWheel('name-of', '2.1', { 'name_of.py': 'it = "world"\n' });
  server.addWheel('broken', '1.0', { 'broken.py': 'x = 1\n' }, ['not-on-the-index']);
  server.addFile(
    'only-source',
    'only-source-1.0.tar.gz',
    await makeTarball({ 'setup.py': 'raise SystemExit(1)\n', 'PKG-INFO': 'Name: only-source\n' }, 'only-source-1.0'),
  );
});
afterAll(() => server.close());

describe.skipIf(skip)('python layers', () => {
  test('SB-07 requirements.txt becomes a read-only, compiled layer that a run imports from', async () => {
    const site = siteOf(server);
    const lines: string[] = [];
    const layer = await ensure(
      site,
      { 'requirements.txt': '# a comment\ngreeting >= 1\n' },
      { ...SILENT, onProgress: (manager, line) => lines.push(`${manager}: ${line}`) },
    );
    expect(layer).toMatchObject({ manager: 'pip', built: true });
    expect(lines.some(line => line.startsWith('pip: Collecting greeting'))).toBe(true);
    const program = 'import greeting; print(greeting.hello, greeting.__cached__)\nopen(greeting.__file__, "a")';
    const said = await useLayer(site, layer, program);
    expect(said).toMatch(/^hello world \/sandbox\/site-packages\/greeting\/__pycache__\/.*\.pyc\n/);
    expect(said).toMatch(/OSError|PermissionError/);
    const about = JSON.parse(readFileSync(join(layer.path, '../layer.json'), 'utf8')) as {
      lock: string;
      hashed: boolean;
    };
    expect(about.hashed).toBe(true);
    expect(about.lock).toContain(`greeting==1.0 --hash=sha256:${hash}\n`);
    expect(about.lock).toMatch(/^greeting==1\.0 .*\nname-of==2\.1 --hash=sha256:[0-9a-f]{64}\n$/);
    expect(statSync(join(layer.path, 'greeting/__init__.py')).mode & 0o222).toBe(0);
    expect(readdirSync(join(site.directory, 'work'))).toEqual([]);
    expect(readdirSync(join(site.directory, 'locks'))).toEqual([]);
  });

  test('SB-07 a hash in requirements.txt is held, and a wrong one fails', async () => {
    const site = siteOf(server);
    const name = server.requests.length;
    const pinned = (sha: string) => ({ 'requirements.txt': `name-of==2.1 --hash=sha256:${sha}\n` });
    const wrong = ensure(site, pinned('0'.repeat(64)));
    await expect(wrong).rejects.toMatchObject({ code: 'DEPENDENCIES_FAILED', exit: 1 });
    await expect(wrong).rejects.toThrow(/pip could not resolve the dependencies \(exit code 1\)/);
    expect(server.requests.length).toBeGreaterThan(name);
  });

  test('SB-07 with a warm cache it needs no index, nor a second build', async () => {
    const first = siteOf(server);
    const files = { 'requirements.txt': 'name-of\n' };
    const built = await ensure(first, files);
    const before = server.requests.length;
    // The same data directory in another process; the same wish in another spelling.
    const second = siteOf(server, { directory: first.directory });
    const again = await ensure(second, { 'requirements.txt': '\n  name-of   # the same\r\n' });
    expect(again).toEqual({ ...built, built: false });
    expect(server.requests).toHaveLength(before);
  });

  test.each(['', '{"key":', '{}', 'null'])(
    'SB-07 a record that is cut off or damaged (%j) is named, with what to do',
    async text => {
      const site = siteOf(server);
      const files = { 'requirements.txt': 'name-of\n' };
      await ensure(site, files);
      const [name = ''] = readdirSync(join(site.directory, 'inputs'));
      const record = join(site.directory, 'inputs', name);
      writeFileSync(record, text);
      await expect(ensure(site, files)).rejects.toMatchObject({
        code: 'UNREADABLE',
        message: 'cannot read which packages were built before',
        hint: `Remove ${record}; the next run resolves the packages anew, maybe to newer versions.`,
      });
      rmSync(record);
      expect(await ensure(site, files)).toMatchObject({ manager: 'pip' });
    },
  );

  test('SB-07 a package that has only a source archive is refused, and nothing of it runs', async () => {
    const site = siteOf(server);
    const failing = ensure(site, { 'requirements.txt': 'only-source\n' });
    await expect(failing).rejects.toMatchObject({ code: 'DEPENDENCIES_FAILED' });
    await expect(failing).rejects.toThrow(/No matching distribution found for only-source/);
  });

  test('SB-07 a failed build is an error with the last lines of pip, and leaves nothing', async () => {
    const site = siteOf(server);
    const failing = ensure(site, { 'requirements.txt': 'broken\n' });
    await expect(failing).rejects.toMatchObject({
      code: 'DEPENDENCIES_FAILED',
      details: {
        manager: 'pip',
        step: 'resolve',
        lines: expect.arrayContaining([expect.stringContaining('not-on-the-index')]) as string[],
      },
    });
    expect(readdirSync(site.directory).sort()).toEqual(['locks', 'work']);
    expect(readdirSync(join(site.directory, 'work'))).toEqual([]);
  });

  test('SB-07 an index that cannot be reached is said by name', async () => {
    const gone = new PackageServer();
    await gone.start();
    const site = makeSite({ pip: gone.pip, npm: null });
    gone.close();
    const failing = ensure(site, { 'requirements.txt': 'name-of\n' });
    await expect(failing).rejects.toThrow(/127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/);
  });

  test('SB-07 a host that is not on the list is said by name, and which setting puts it there', async () => {
    const files = new PackageServer();
    await files.start();
    const index = createServer((_asked, answer) => {
      answer.writeHead(200, { 'content-type': 'text/html' });
      answer.end(`<a href="${files.origin}/files/afar-1.0-py3-none-any.whl">afar-1.0-py3-none-any.whl</a>`);
    }).listen(0, '127.0.0.1');
    await once(index, 'listening');
    files.addWheel('afar', '1.0', { 'afar.py': 'x = 1\n' });
    const pip = `http://127.0.0.1:${(index.address() as AddressInfo).port}/simple`;
    const host = new URL(files.origin).host;
    await expect(ensure(makeSite({ pip, npm: null }), { 'requirements.txt': 'afar\n' })).rejects.toMatchObject({
      code: 'DEPENDENCIES_FAILED',
      message: `pip could not resolve the dependencies (exit code 1): ${host} is not on the list`,
      hint: expect.stringContaining('SKILLBOX_INDEX_HOSTS') as string,
    });
    const named = makeSite({ pip, npm: null }, { indexes: { pip, npm: null, hosts: [host] } });
    expect(await ensure(named, { 'requirements.txt': 'afar\n' })).toMatchObject({ built: true });
    index.close();
    files.close();
  });

  test('SB-07 an index that never answers ends with the time of the build, not of the run', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/simple`;
    const site = makeSite({ pip: url, npm: null }, { limits: { ...BUILD_LIMITS, timeMs: 2000, graceMs: 100 } });
    const failing = ensure(site, { 'requirements.txt': 'name-of\n' });
    await expect(failing).rejects.toMatchObject({ details: { end: { kind: 'timeout' } } });
    await expect(failing).rejects.toThrow(/pip could not resolve the dependencies \(after 2 s\)/);
    silent.close();
  });

  test('SB-07 a layer that is fully hashed is one for all tenants', async () => {
    const site = siteOf(server);
    const files = { 'requirements.txt': 'name-of\n' };
    const [one, two] = [await ensure(site, files, SILENT, 'one'), await ensure(site, files, SILENT, 'two')];
    expect(one.path).toBe(two.path);
  });
});
