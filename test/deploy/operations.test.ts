import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SETTING_NAMES } from '../../src/config/index.ts';
import { run } from '../fake-io.ts';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
vi.setConfig({ testTimeout: 60_000 });
const root = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(root, 'docs/operations.md'), 'utf8');

describe('docs/operations.md', () => {
  test('names no setting that is none', () => {
    const groups = new Set(SETTING_NAMES.map(name => name.split('.')[0] ?? ''));
    const named = Array.from(PAGE.matchAll(/`([a-z0-9]+(?:\.[a-zA-Z0-9]+)+)(?:: [^`]*)?`/g), match => match[1] ?? '');
    const settings = named.filter(name => groups.has(name.split('.')[0] ?? '') && !/\.(?:key|db|json)$/.test(name));
    expect(settings.length).toBeGreaterThan(30);
    const known: readonly string[] = SETTING_NAMES;
    expect(settings.filter(name => !known.includes(name))).toEqual([]);
  });

  test('tells of metrics that there are, and of all of ours', async () => {
    const data = tempDir('data');
    const url = await serve(data);
    const key = readFileSync(join(data, 'first-key'), 'utf8').trim();
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    const told = Array.from((await answer.text()).matchAll(/^# HELP (\S+)/gm), match => match[1] ?? '');
    const table = PAGE.slice(PAGE.indexOf('| metric |'), PAGE.indexOf('| alert when |'));
    const named = Array.from(table.matchAll(/^\| `(\w+)` \|/gm), match => match[1] ?? '');
    expect(named.filter(name => !told.includes(name))).toEqual([]);
    expect(told.filter(name => name.startsWith('skillbox_') && !named.includes(name))).toEqual([]);
  });

  test.skipIf(NO_SANDBOX)('what it says to save is enough to go on with', async () => {
    const [data, saved, restored] = [tempDir('data'), tempDir('saved'), tempDir('restored')];
    const env = { HOME: tempDir('home'), SKILLBOX_DATA_DIR: data, PATH: process.env.PATH ?? '' };
    const again = { ...env, SKILLBOX_DATA_DIR: join(restored, 'data') };
    const skill = join(EXAMPLES, 'skillbox/word-count');
    expect((await run(['run', skill, '--input', '{"text":"a b"}'], { env })).code).toBe(0);
    expect((await run(['secret', 'set', 'custom/a-key'], { env, stdin: 'a-long-secret-value' })).code).toBe(0);
    expect((await run(['audit', 'rotate'], { env })).code).toBe(0);
    const checkpoint = join(saved, 'checkpoint.json');
    expect((await run(['audit', 'checkpoint', '-o', checkpoint], { env })).code).toBe(0);

    // As the page says: the database by SQLite's own means first, the files after it.
    const database = new DatabaseSync(join(data, 'skillbox.db'), { readOnly: true });
    await backup(database, join(saved, 'skillbox.db'));
    database.close();
    const names = /skillbox\/\{([^}]+)\} \/backup/.exec(PAGE)?.[1]?.split(',') ?? [];
    expect(names).toContain('blobs');
    const there = names.filter(name => existsSync(join(data, name)));
    for (const name of there) execFileSync('cp', ['-a', join(data, name), saved]);

    mkdirSync(again.SKILLBOX_DATA_DIR, { mode: 0o700 });
    for (const name of ['skillbox.db', ...there])
      execFileSync('cp', ['-a', join(saved, name), again.SKILLBOX_DATA_DIR]);
    expect((await run(['audit', 'verify'], { env: again })).code).toBe(0);
    expect((await run(['audit', 'verify', '--against', checkpoint], { env: again })).code).toBe(0);
    const { runs } = JSON.parse((await run(['exec', 'list', '--json'], { env: again })).out) as {
      runs: { execution_id: string }[];
    };
    expect((await run(['exec', 'logs', runs[0]?.execution_id ?? ''], { env: again })).code).toBe(0);
    // Opened, sealed anew, and opened again: the master key is the right one.
    expect(await run(['secret', 'rekey'], { env: again })).toMatchObject({ code: 0 });
  });
});

/** The program, until the test ends. */
async function serve(data: string): Promise<string> {
  const env = { SKILLBOX_DATA_DIR: data, HOME: data, PATH: process.env.PATH ?? '' };
  const words = [join(root, 'dist/cli/skillbox.cjs'), 'serve', '--port', '0'];
  const child: ChildProcess = spawn(process.execPath, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(async () => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  for (let tries = 0; tries < 200; tries++) {
    const found = /Serving at (\S+)/.exec(said)?.[1];
    if (found !== undefined) return found;
    await sleep(50);
  }
  throw new Error(`it did not start: ${said}`);
}
