import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { run } from '../fake-io.ts';
import { tempDirectory } from '../temp.ts';

const base = tempDirectory();
const VALUE = 'postgres://u:hunter22@db.example/skillbox';
let home = '';
beforeEach(() => {
  home = mkdtempSync(join(base, 'home-'));
});

function file(name: string, text: string, mode = 0o600): string {
  const path = join(home, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
const load = (env: Record<string, string>) => loadConfig({ env: { HOME: home, ...env } }).get('store.postgres.url');
const inFile = (text: string, mode?: number) => load({ SKILLBOX_CONFIG: file('c.yaml', text, mode) });

describe('a secret', () => {
  test('comes from a variable, a file that a variable names, the configuration file, or a file that it names', () => {
    const path = file('url', `${VALUE}\n`);
    expect(load({ SKILLBOX_STORE_POSTGRES_URL: VALUE })?.read()).toBe(VALUE);
    expect(load({ SKILLBOX_STORE_POSTGRES_URL_FILE: path })?.read()).toBe(VALUE);
    expect(inFile(`store: {postgres: {url: "${VALUE}"}}\n`)?.read()).toBe(VALUE);
    expect(inFile(`store: {postgres: {urlFile: ${path}}}\n`)?.read()).toBe(VALUE);
    expect(load({})).toBeNull();
  });

  test('given twice in one place is a fault; the environment is before the file', () => {
    const path = file('url', 'other\n');
    const both = { SKILLBOX_STORE_POSTGRES_URL: VALUE, SKILLBOX_STORE_POSTGRES_URL_FILE: path };
    expect(() => load(both)).toThrow(/SKILLBOX_STORE_POSTGRES_URL and SKILLBOX_STORE_POSTGRES_URL_FILE both give/);
    expect(() => inFile(`store: {postgres: {url: a, urlFile: ${path}}}\n`)).toThrow(/both give/);
    const config = file('d.yaml', `store: {postgres: {urlFile: ${path}}}\n`);
    expect(load({ SKILLBOX_CONFIG: config, SKILLBOX_STORE_POSTGRES_URL: VALUE })?.read()).toBe(VALUE);
  });

  test('its file is read when it is needed, and only when nobody else can read or write it', () => {
    const open = load({ SKILLBOX_STORE_POSTGRES_URL_FILE: file('open', VALUE, 0o644) });
    expect(() => open?.read()).toThrow(/everybody can read it/);
    const written = load({ SKILLBOX_STORE_POSTGRES_URL_FILE: file('written', VALUE, 0o602) });
    expect(() => written?.read()).toThrow(/everybody can write to it/);
    const gone = load({ SKILLBOX_STORE_POSTGRES_URL_FILE: join(home, 'gone') });
    expect(() => gone?.read()).toThrow(/not there/);
    const two = load({ SKILLBOX_STORE_POSTGRES_URL_FILE: file('two', 'a\nb\n') });
    expect(() => two?.read()).toThrow(/one line/);
    expect(() => load({ SKILLBOX_STORE_POSTGRES_URL_FILE: 'relative' })).toThrow(/absolute/);
    expect(load({ SKILLBOX_STORE_POSTGRES_URL_FILE: file('group', VALUE, 0o440) })?.read()).toBe(VALUE);
  });

  test('stands in no configuration file that everybody can read', () => {
    expect(() => inFile(`store: {postgres: {url: "${VALUE}"}}\n`, 0o644)).toThrow(/everybody can read/);
    expect(inFile(`store: {postgres: {urlFile: ${file('url', VALUE)}}}\n`, 0o644)?.read()).toBe(VALUE);
  });

  test('is in nothing that is printed', async () => {
    const env = { HOME: home, SKILLBOX_STORE_POSTGRES_URL: VALUE, SKILLBOX_API_KEY: 'hunter22' };
    const config = loadConfig({ env });
    const secret = config.get('store.postgres.url');
    expect(`${inspect(config, { depth: 9 })}${JSON.stringify(secret)}${inspect(secret)}`).not.toContain('hunter22');
    for (const words of [['show'], ['show', '--json'], ['check'], ['check', '--json']]) {
      const { out, err, code } = await run(['config', ...words], { env });
      expect([code, out.includes('hunter22'), err.includes('hunter22')]).toEqual([0, false, false]);
    }
    expect((await run(['config', 'show'], { env })).out).toContain('(hidden)');
    // A fault of a secret does not repeat it either.
    const { out, err } = await run(['config', 'check'], { env: { ...env, SKILLBOX_API_KEY: 'hunter22\nx' } });
    expect(out + err).toContain('SKILLBOX_API_KEY holds no usable client.key');
    expect(out + err).not.toContain('hunter22');
  });

  test.each([
    ['itself where its file is meant', { SKILLBOX_STORE_POSTGRES_URL_FILE: VALUE }],
    ['itself where its file is meant, a key', { SKILLBOX_API_KEY_FILE: 'sbx_hunter22' }],
    ['a password in an address', { SKILLBOX_SERVER_URL: 'https://u:hunter22@skills.example' }],
    ['a password that is no word', { SKILLBOX_SERVER_URL: 'https://u:hunter22@:x@skills.example' }],
    ['a password in an address of another kind', { SKILLBOX_SERVER_PUBLIC_URL: 'ftp://u:hunter22@skills.example' }],
  ])('is not told where it does not belong: %s', async (_what, more) => {
    const { out, err, code } = await run(['config', 'check', '--json'], { env: { HOME: home, ...more } });
    expect([code, (out + err).includes('hunter22')]).toEqual([2, false]);
    const told = await run(['exec', 'list'], { env: { HOME: home, ...more } });
    expect([told.code, (told.out + told.err).includes('hunter22')]).toEqual([2, false]);
  });
});
