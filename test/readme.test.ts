import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from './fake-io.ts';
import { BUBBLEWRAPS } from './support/drivers.ts';
import { tempDirectory } from './temp.ts';

const text = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
const start = text.slice(text.indexOf('## Start'), text.indexOf('## What it does'));
const commands = [...start.matchAll(/^\.\/skillbox (.*)$/gm)].map(match => match[1] ?? '');

describe('README', () => {
  test('the start has commands to follow', () => {
    expect(commands.length).toBeGreaterThanOrEqual(4);
  });

  test.skipIf(BUBBLEWRAPS[0]?.skip !== null)('the start works as written', async () => {
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
    for (const link of links)
      expect(() => readFileSync(join(import.meta.dirname, '..', link)), link).not.toThrow(/ENOENT/);
  });
});
