import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = tempDirectory();
let home = '';
beforeEach(() => {
  home = mkdtempSync(join(base, 'home-'));
});
const cli = (words: string[], env: Record<string, string> = {}) =>
  run(['config', ...words], { cwd: home, env: { HOME: home, ...env } });

describe('skillbox config check', () => {
  test('what holds here: valid, or every fault with its place; unknown variables are noted', async () => {
    expect(await cli(['check'])).toEqual({ code: 0, out: 'valid (no file)\n', err: '' });
    const { code, out, err } = await cli(['check'], {
      SKILLBOX_WARM: 'x',
      SKILLBOX_SERVER_PORT: 'y',
      SKILLBOX_SERVER_PROT: '1',
    });
    expect(code).toBe(2);
    expect(out).toBe(
      'SKILLBOX_WARM is "x"\n    hint: It must be a number from 0 to 64.\n' +
        'SKILLBOX_SERVER_PORT is "y"\n    hint: It must be a number from 0 to 65535.\n',
    );
    expect(err).toBe('note: nothing reads SKILLBOX_SERVER_PROT; did you mean SKILLBOX_SERVER_PORT?\n');
  });

  test('a file alone, as a server would read it, without the variables of this shell', async () => {
    writeFiles(home, { 'c.yaml': 'server:\n  host: 0.0.0.0\n' });
    const { code, out } = await cli(['check', 'c.yaml', '--json'], { SKILLBOX_WARM: 'x' });
    expect(code).toBe(2);
    expect(JSON.parse(out)).toEqual({
      ok: false,
      file: join(home, 'c.yaml'),
      unknownVariables: [],
      faults: [
        {
          place: { from: 'file', file: join(home, 'c.yaml'), line: 2, column: 9 },
          message: 'is wrong: server.host is an address that others can reach',
          hint: expect.stringContaining('--public') as string,
        },
      ],
    });
    expect((await cli(['check', 'c.yaml', '--for', 'command'])).code).toBe(0);
    expect(await cli(['check', 'gone.yaml'])).toMatchObject({ code: 2, out: expect.stringContaining('not there') });
  });

  test('says now that the file of a secret cannot be read', async () => {
    const path = join(home, 'gone');
    const { code, out } = await cli(['check'], { SKILLBOX_API_KEY_FILE: path });
    expect(code).toBe(2);
    expect(out).toContain(`SKILLBOX_API_KEY_FILE cannot be used: the file of client.key, ${path}`);
  });
});

describe('skillbox config show', () => {
  test('every value and where it came from', async () => {
    writeFiles(home, { '.config/skillbox/config.yaml': 'runs:\n  slots: 7\n' });
    const file = join(home, '.config/skillbox/config.yaml');
    const { code, out } = await cli(['show'], { SKILLBOX_WARM: '3' });
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toBe(file);
    expect(out).toMatch(/^ {2}warm\.count +3 {2}\(SKILLBOX_WARM\)$/m);
    expect(out).toContain(`7  (${file}:2:10)\n`);
    expect(out).toMatch(/^ {2}server\.port +8080$/m);
    const shown = JSON.parse((await cli(['show', '--json', '--for', 'server'])).out) as {
      settings: Record<string, unknown>;
    };
    expect(shown.settings['warm.count']).toEqual({ value: 4, origin: { from: 'default' } });
    expect(shown.settings['runs.slots']).toEqual({ value: 7, origin: { from: 'file', file, line: 2, column: 10 } });
  });

  test('a fault does not hide the rest', async () => {
    const { code, out, err } = await cli(['show'], { SKILLBOX_WARM: 'x' });
    expect([code, err]).toEqual([2, expect.stringContaining('SKILLBOX_WARM is "x"')]);
    expect(out).toMatch(/^ {2}server\.port +8080$/m);
  });
});
