import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { run } from './fake-io.ts';
import { BUBBLEWRAPS } from './support/drivers.ts';
import { tempDirectory } from './temp.ts';

const root = resolve(import.meta.dirname, '..');
const text = readFileSync(join(root, 'README.md'), 'utf8');
const start = text.slice(text.indexOf('## Start'), text.indexOf('## What it does'));
const commands = [...start.matchAll(/^\.\/skillbox (.*)$/gm)].map(match => match[1] ?? '');
const NO_SANDBOX = BUBBLEWRAPS[0]?.skip !== null;

describe('README', () => {
  test('the start has commands to follow', () => {
    expect(commands.length).toBeGreaterThanOrEqual(4);
  });

  test.skipIf(NO_SANDBOX)('the start works as written', async () => {
    const cwd = tempDirectory();
    const env = { SKILLBOX_DATA_DIR: join(cwd, 'data') };
    for (const command of commands) {
      const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(match => match[1] ?? match[2] ?? '');
      const { code, err } = await run(words, { cwd, env });
      expect([command, code, code === 0 ? '' : err]).toEqual([command, 0, '']);
    }
  });

  test('every document that it links to exists', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(match => match[1] ?? '');
    for (const link of links) expect(() => readFileSync(join(root, link)), link).not.toThrow(/ENOENT/);
  });
});

/** The blocks of the section, exactly as they stand there. */
const section = text.slice(text.indexOf('## A server for a team'), text.indexOf('## What happened'));
const blocks = (language: string) =>
  [...section.matchAll(/```(\w+)\n([\s\S]*?)```/g)].filter(match => match[1] === language).map(match => match[2] ?? '');
const [serve = '', curl = '', cli = ''] = blocks('sh');
const [program = ''] = blocks('js');

describe.skipIf(NO_SANDBOX)('README: a server, with the built program and curl', () => {
  const PORT = 8080;
  const place = tempDirectory();
  const empty = join(place, 'empty');
  const clone = join(place, 'clone');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: join(place, 'home'),
    SKILLBOX_DATA_DIR: join(place, 'data'),
    SKILLBOX_WARM: '0',
  };
  let server: ChildProcess;
  let url = '';
  let key = '';

  /** Where the server listens and which key it made are all that is filled in. */
  const fill = (block: string) => block.replaceAll(`http://127.0.0.1:${PORT}`, url).replaceAll('sbx_…', key);
  const sh = (script: string, more: Record<string, string> = {}) =>
    execFileSync('sh', ['-eu', '-c', fill(script)], { cwd: clone, env: { ...env, ...more }, encoding: 'utf8' });

  beforeAll(async () => {
    if (!existsSync(join(root, 'dist/cli/skillbox.cjs')))
      execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root });
    for (const directory of [empty, clone, env.HOME]) mkdirSync(directory);
    for (const name of ['skillbox', 'examples']) symlinkSync(join(root, name), join(clone, name));
    expect(serve.trim()).toBe('./skillbox serve');
    server = spawn(join(root, 'skillbox'), ['serve', '--port', '0'], { cwd: empty, env, stdio: 'pipe' });
    let said = '';
    server.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
    });
    server.stdout?.resume();
    await vi.waitFor(() => expect(said).toMatch(/Serving at http:\S+\n/), { timeout: 30_000, interval: 50 });
    url = /Serving at (\S+)/.exec(said)?.[1] ?? '';
    key = readFileSync(join(env.SKILLBOX_DATA_DIR, 'first-key'), 'utf8').trim();
  }, 90_000);

  afterAll(async () => {
    if (server?.exitCode !== null) return;
    server.kill('SIGTERM');
    await once(server, 'exit');
  }, 40_000);

  test('publish, run, follow and download', { timeout: 60_000 }, () => {
    expect([curl.includes(`:${PORT}`), curl.includes('sbx_…')]).toEqual([true, true]);
    const out = sh(curl);
    expect(out).toContain('"name":"slow-steps"');
    // The first run is answered whole; the second is followed line by line, to its end.
    expect(out).toMatch(/"status":"success".*"logs":"step 1 of 3\\nstep 2 of 3\\nstep 3 of 3\\n"/);
    expect(out).toMatch(/event: log\nid: \d+\ndata: .*"text":"step 9 of 9\\n"/);
    expect(out).toMatch(/id: \d+-end\ndata: .*"state":"success"/);
    expect(JSON.parse(readFileSync(join(clone, 'run.json'), 'utf8'))).toMatchObject({ status: 'running' });
    const unpacked = execFileSync('tar', ['-xzOf', 'files.tar.gz', 'steps.txt'], { cwd: clone, encoding: 'utf8' });
    expect(unpacked.split('\n').filter(Boolean)).toHaveLength(9);
    expect(readFileSync(join(clone, 'same.tar.gz')).equals(readFileSync(join(clone, 'files.tar.gz')))).toBe(true);
    // All that a server has is in its data directory.
    expect(readdirSync(empty)).toEqual([]);
  });

  test('the same from the command line, then from a program', { timeout: 60_000 }, () => {
    const out = sh(cli, { SKILLBOX_SERVER_URL: url, SKILLBOX_API_KEY: key });
    expect(out).toContain('word-count 1.0.0 published');
    expect(out).toContain('"words": 6');
    expect(out).toMatch(/success.*word-count main/);
    expect(out).toMatch(/^sbx_\w+/m);
    expect(program.trim().split('\n').length).toBeLessThanOrEqual(10);
    mkdirSync(join(clone, 'node_modules'));
    symlinkSync(root, join(clone, 'node_modules/skillbox'));
    writeFileSync(join(clone, 'package.json'), '{"type":"module"}');
    writeFileSync(join(clone, 'program.js'), fill(program));
    const said = execFileSync(process.execPath, ['program.js'], {
      cwd: clone,
      env: { ...env, SKILLBOX_API_KEY: key },
      encoding: 'utf8',
    });
    expect(said).toMatch(/^success \{\s+words: 6/);
    expect(said).toContain('| to | 2 |');
  });
});
