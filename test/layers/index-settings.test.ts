import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { DEFAULT_INDEXES } from '../../src/layers/index.ts';
import { pipIndexOf, resolveIndex } from '../../src/layers/index-settings.ts';
import { hostTool } from '../../src/layers/tools.ts';
import { dependencyOptions } from '../../src/local.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { SEARCH } from '../support/workshop.ts';
import { writeFiles } from '../temp.ts';

tidy();
const call = promisify(execFile);
const none = tempDir('home');
const programs = { search: SEARCH, notes: tempDir('notes') };

describe('where packages come from', () => {
  test('SB-07 a configured index may stand anywhere, and is all that a build reaches', async () => {
    const settings = {
      pip: 'http://127.0.0.1:8080/simple',
      npm: 'https://[fd00::1]/npm/',
      hosts: ['files.example:8443'],
    };
    const tool = await hostTool('pip', programs);
    expect(await resolveIndex('pip', settings, tool)).toEqual({
      url: 'http://127.0.0.1:8080/simple',
      rules: [
        { host: '127.0.0.1', port: 8080, private: true },
        { host: 'files.example', port: 8443, private: true },
      ],
    });
    expect((await resolveIndex('npm', settings, tool)).rules[0]).toEqual({ host: 'fd00::1', port: 443, private: true });
  });

  test.each(['pip', 'npm'] as const)(
    "SB-07 without one, %s's own is asked for, and reached only in public",
    async manager => {
      const index = await resolveIndex(manager, DEFAULT_INDEXES, await hostTool(manager, programs));
      expect(index.url).toMatch(/^https?:\/\//);
      expect(index.rules.length).toBeGreaterThan(0);
      expect(index.rules[0]?.host).toBe(new URL(index.url).hostname);
      expect(index.rules.every(rule => !rule.private)).toBe(true);
    },
  );

  test('SB-07 a stranger in whose directory the caller stands chooses no index and runs nothing', async () => {
    const hostile = writeFiles(tempDir('hostile'), {
      '.npmrc': 'registry=https://evil.example/\n',
      'package.json': '{}',
      'pip/__init__.py': 'open("ran", "w")',
      'pip/__main__.py': 'open("ran", "w")',
      'json.py': 'open("ran", "w")',
    });
    const from = (path: string) => JSON.stringify(join(import.meta.dirname, '../../src/layers', path));
    const script = `
      const { resolveIndex } = await import(${from('index-settings.ts')});
      const { hostTool } = await import(${from('tools.ts')});
      const none = { pip: null, npm: null, hosts: [] };
      for (const manager of ['pip', 'npm'])
        console.log((await resolveIndex(manager, none, await hostTool(manager, ${JSON.stringify(programs)}))).url);`;
    const words = ['--no-warnings', '--input-type=module', '-e', script];
    const { PATH, HOME } = process.env;
    const { stdout } = await call(process.execPath, words, { cwd: hostile, env: { PATH, HOME, PYTHONPATH: hostile } });
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(stdout).not.toContain('evil');
    expect(existsSync(join(hostile, 'ran'))).toBe(false);
  });

  test.each([
    'https://user:secret@index.example/simple',
    'https://token@index.example/simple',
    'file:///srv/index',
    'index.example',
    'ftp://index.example/',
  ])('SB-07 %s is refused, and no secret is repeated', async url => {
    const resolving = resolveIndex('pip', { ...DEFAULT_INDEXES, pip: url }, { program: '/nonexistent', prefix: [] });
    await expect(resolving).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('SKILLBOX_PIP') as string,
    });
    await expect(resolving).rejects.not.toThrow(/secret|token/);
  });

  test("SB-07 of pip's configuration one index is taken, the environment's first", () => {
    expect(
      pipIndexOf("global.index-url='https://a.example/simple'\n:env:.index-url='https://b.example/simple'\n"),
    ).toBe('https://b.example/simple');
    expect(pipIndexOf("global.extra-index-url='https://c.example/simple'\nglobal.cert='/x'\n")).toBeNull();
  });

  test('SB-07 settings come from the environment; code that strangers wrote runs only for the word yes', () => {
    const settings = (env: Record<string, string>) => dependencyOptions(loadConfig({ env: { HOME: none, ...env } }));
    expect(settings({})).toEqual({
      indexes: { pip: null, npm: null, hosts: [] },
      allow: { sources: false, scripts: false },
    });
    expect(
      settings({
        SKILLBOX_PIP_INDEX_URL: 'https://a.example/simple',
        SKILLBOX_NPM_REGISTRY: 'https://b.example/',
        SKILLBOX_INDEX_HOSTS: 'c.example, d.example:8443',
        SKILLBOX_ALLOW_SOURCE_PACKAGES: 'yes',
      }),
    ).toEqual({
      indexes: { pip: 'https://a.example/simple', npm: 'https://b.example/', hosts: ['c.example', 'd.example:8443'] },
      allow: { sources: true, scripts: false },
    });
    expect(() => settings({ SKILLBOX_ALLOW_INSTALL_SCRIPTS: '1' })).toThrow(/SKILLBOX_ALLOW_INSTALL_SCRIPTS is "1"/);
  });
});
