import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PackageServer } from '../support/packages.ts';
import { tidy } from '../support/temp.ts';
import { ensure, makeSite, SILENT, siteOf, useLayer } from '../support/workshop.ts';

tidy();
const skip = !existsSync('/usr/bin/bwrap');
const server = new PackageServer();
let integrity = '';

const wanting = (dependencies: object, more: object = {}) => JSON.stringify({ ...more, dependencies });
const PROGRAM = `import { hello } from 'greeting'; console.log(hello);`;

beforeAll(async () => {
  await server.start();
  const esm = { type: 'module', main: 'index.js' };
  integrity = await server.addPackage({
    name: 'greeting',
    version: '1.0.0',
    manifest: { ...esm, dependencies: { '@words/world': '^2.0.0' }, bin: { greet: 'greet.js' } },
    files: {
      'index.js': `import word from '@words/world'; export const hello = 'hello ' + word;\n`,
      'greet.js': '#!/usr/bin/env node\n',
    },
  });
  await server.addPackage({
    name: '@words/world',
    version: '2.1.0',
    manifest: esm,
    files: { 'index.js': `export default 'world';\n` },
  });
  await server.addPackage({
    name: 'scripted',
    version: '1.0.0',
    manifest: {
      ...esm,
      scripts: {
        preinstall: 'node mark.js',
        install: 'node mark.js',
        postinstall: 'node mark.js',
        prepare: 'node mark.js',
      },
    },
    files: {
      'index.js': `import { existsSync } from 'node:fs'; export const ran = existsSync(new URL('ran', import.meta.url));\n`,
      'mark.js': `import { writeFileSync } from 'node:fs'; writeFileSync('ran', '');\n`,
    },
  });
});
afterAll(() => server.close());

describe.skipIf(skip)('npm layers', () => {
  test('SB-07 package.json becomes a read-only layer that a run imports from', async () => {
    const site = siteOf(server);
    const lines: string[] = [];
    const hooks = { ...SILENT, onProgress: (manager: string, line: string) => void lines.push(`${manager}: ${line}`) };
    const layer = await ensure(site, { 'package.json': wanting({ greeting: '^1.0.0' }) }, hooks);
    expect(layer).toMatchObject({ manager: 'npm', built: true });
    expect(await useLayer(site, layer, PROGRAM)).toBe('hello world\n');
    expect(lines.some(line => line.startsWith('npm: '))).toBe(true);
    const about = JSON.parse(readFileSync(join(layer.path, '../layer.json'), 'utf8')) as {
      lock: string;
      hashed: boolean;
    };
    expect(about.hashed).toBe(true);
    expect(about.lock).toContain(integrity);
    expect(about.lock).not.toContain('resolved');
    expect(readdirSync(join(layer.path, '.bin'))).toEqual(['greet']);
    expect(readdirSync(join(site.directory, 'work'))).toEqual([]);
  });

  test('SB-07 package-lock.json decides, wherever it says that its packages lie; a wrong hash in it fails', async () => {
    const site = siteOf(server);
    const lock = (hash: string) =>
      JSON.stringify({
        lockfileVersion: 3,
        packages: {
          '': { dependencies: { greeting: '^1.0.0' } },
          'node_modules/greeting': {
            version: '1.0.0',
            resolved: 'https://registry.example/greeting/-/greeting-1.0.0.tgz',
            integrity: hash,
            dependencies: { '@words/world': '^2.0.0' },
          },
          'node_modules/@words/world': { version: '2.1.0', resolved: 'https://elsewhere.example/@words/w.tgz' },
        },
      });
    const files = (hash: string) => ({
      'package.json': wanting({ greeting: '^1.0.0' }),
      'package-lock.json': lock(hash),
    });
    const layer = await ensure(site, files(integrity));
    expect(await useLayer(site, layer, PROGRAM)).toBe('hello world\n');
    // One package has no hash, so that another tenant's registry might give another one.
    expect((await ensure(site, files(integrity), SILENT, 'another')).key).not.toBe(layer.key);
    const wrong = ensure(site, files(`sha512-${Buffer.alloc(64).toString('base64')}`));
    await expect(wrong).rejects.toMatchObject({
      code: 'DEPENDENCIES_FAILED',
      details: { step: 'install', lines: expect.arrayContaining([expect.stringContaining('EINTEGRITY')]) as string[] },
    });
  });

  test('SB-07 what only its author needs is not looked for in the index: without a lock, and with one that names it', async () => {
    const site = siteOf(server);
    const dev = { devDependencies: { 'only-at-home': '^1.0.0' } };
    const before = server.requests.length;
    const layer = await ensure(site, { 'package.json': wanting({ greeting: '^1.0.0' }, dev) });
    expect(await useLayer(site, layer, PROGRAM)).toBe('hello world\n');
    const entry = (version: string, more: object) => ({ version, ...more });
    const packages = {
      '': { dependencies: { greeting: '^1.0.0' }, ...dev },
      'node_modules/greeting': entry('1.0.0', { integrity, dependencies: { '@words/world': '^2.0.0' } }),
      'node_modules/@words/world': entry('2.1.0', {}),
      'node_modules/only-at-home': entry('1.0.0', { dev: true, dependencies: { 'far-away': '1' } }),
      'node_modules/far-away': entry('1.0.0', { dev: true }),
    };
    const locked = await ensure(siteOf(server), {
      'package.json': wanting({ greeting: '^1.0.0' }, dev),
      'package-lock.json': JSON.stringify({ lockfileVersion: 3, packages }),
    });
    expect(readdirSync(locked.path).filter(name => !name.startsWith('.'))).toEqual(['@words', 'greeting']);
    expect(server.requests.slice(before).filter(url => /only-at-home|far-away/.test(url))).toEqual([]);
  });

  test('SB-07 install scripts do not run, unless the operator allows them', async () => {
    const files = {
      'package.json': wanting({ scripted: '1.0.0' }, { scripts: { install: 'touch /layer/node_modules/own' } }),
    };
    const program = `import { ran } from 'scripted'; console.log(ran);`;
    const site = siteOf(server);
    const layer = await ensure(site, files);
    expect(await useLayer(site, layer, program)).toBe('false\n');
    const lax = siteOf(server, { directory: site.directory, allow: { sources: false, scripts: true } });
    const scripted = await ensure(lax, files);
    expect(scripted.key).not.toBe(layer.key);
    expect(await useLayer(lax, scripted, program)).toBe('true\n');
    expect(existsSync(join(scripted.path, 'own'))).toBe(false);
  });

  test('SB-07 with a warm cache it needs no registry', async () => {
    const gone = new PackageServer();
    await gone.start();
    await gone.addPackage({ name: 'alone', version: '1.0.0', files: { 'index.js': 'exports.x = 1;' } });
    const first = siteOf(gone);
    const built = await ensure(first, { 'package.json': wanting({ alone: '*' }) });
    const settings = { pip: gone.pip, npm: gone.npm };
    gone.close();
    const second = makeSite(settings, { directory: first.directory });
    expect(await ensure(second, { 'package.json': wanting({ alone: '*' }, { name: 'x' }) })).toEqual({
      ...built,
      built: false,
    });
    const other = ensure(second, { 'package.json': wanting({ other: '*' }) });
    await expect(other).rejects.toThrow(/cannot be reached: .*ECONNREFUSED/);
  });

  test('SB-07 a failed build is an error with the last lines of npm, and leaves nothing', async () => {
    const site = siteOf(server);
    const failing = ensure(site, { 'package.json': wanting({ 'not-on-the-registry': '1' }) });
    await expect(failing).rejects.toMatchObject({
      code: 'DEPENDENCIES_FAILED',
      message: expect.stringContaining('(exit code 1): npm error 404 Not Found - GET ') as string,
      details: {
        manager: 'npm',
        lines: expect.arrayContaining([expect.stringContaining('E404')]) as string[],
      },
    });
    expect(readdirSync(site.directory).sort()).toEqual(['locks', 'work']);
  });

  test('SB-07 a lock that lacks what is asked for is named as the cause, not the usage of npm that follows', async () => {
    const lock = JSON.stringify({ lockfileVersion: 3, packages: { '': {} } });
    const files = { 'package.json': wanting({ greeting: '1' }), 'package-lock.json': lock };
    await expect(ensure(siteOf(server), files)).rejects.toThrow(/: npm error `npm ci` can only install packages when/);
  });
});
