import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openTestVault, valueIn } from '../support/secrets.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const ROOT = join(import.meta.dirname, '../..');
const PLAYER = join(import.meta.dirname, '../support/terminal.py');
const ASKS = 'Value (not shown): ';

/** The built program on a terminal of its own. */
function play(data: string, words: string[], typed: string): { screen: string; code: number } {
  const env = { SKILLBOX_DATA_DIR: data, HOME: tempDir('home'), PATH: process.env.PATH ?? '', TERM: 'xterm' };
  const steps = JSON.stringify([{ wait: ASKS, type: typed, after: 0.2 }]);
  const command = [PLAYER, '80', steps, '--', join(ROOT, 'skillbox'), ...words];
  return JSON.parse(execFileSync('python3', command, { env, cwd: env.HOME, encoding: 'utf8' })) as {
    screen: string;
    code: number;
  };
}

describe('a secret that is typed', () => {
  beforeAll(() => {
    if (!existsSync(join(ROOT, 'dist/cli/skillbox.cjs'))) throw new Error('npm run build comes first');
  });

  test('is not shown, may be corrected, and is stored', { timeout: 60_000 }, async () => {
    const data = join(tempDir('prompt'), 'data');
    const { screen, code } = play(data, ['secret', 'set', 'custom/typed'], 'typed-unseé\u007f\u007fen\r');
    expect(code).toBe(0);
    expect(screen).not.toContain('typed-');
    expect(screen).toContain('custom/typed is stored');
    const { store, vault } = openTestVault(data);
    expect(await valueIn(vault, 'custom/typed')).toBe('typed-unsen');
    await store.close();
  });

  test('ends with Return, Ctrl-D or both', { timeout: 60_000 }, async () => {
    for (const end of ['\u0004', '\r\u0004', '\r\n']) {
      const data = join(tempDir('prompt'), 'data');
      expect(play(data, ['secret', 'set', 'custom/typed'], `typed-unseen${end}`).code).toBe(0);
      const { store, vault } = openTestVault(data);
      expect(await valueIn(vault, 'custom/typed')).toBe('typed-unseen');
      await store.close();
    }
  });

  test('Ctrl-C stores nothing', { timeout: 60_000 }, async () => {
    const data = join(tempDir('prompt'), 'data');
    const { screen, code } = play(data, ['secret', 'set', 'custom/typed'], 'half\u0003');
    expect(code).not.toBe(0);
    expect(screen).not.toContain('half');
    const { store, vault } = openTestVault(data);
    expect(await vault.list()).toEqual([]);
    await store.close();
  });

  test('of several lines is refused whole: nothing of it reaches the shell', { timeout: 60_000 }, async () => {
    const data = join(tempDir('prompt'), 'data');
    const { screen, code } = play(data, ['secret', 'set', 'custom/typed'], 'first-line\rsecond-line\r');
    expect(code).not.toBe(0);
    expect(screen).toContain('more than one line was pasted');
    expect(screen).not.toMatch(/first-line|second-line/);
  });
});
