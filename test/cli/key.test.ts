import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const at = () => {
  const env = { SKILLBOX_DATA_DIR: tempDir('keys'), HOME: '/nonexistent' };
  return (...words: string[]) => run(words, { env });
};
const KEY = /^sbx_([0-9a-z]{26})_[A-Za-z0-9_-]{51}$/;

describe('skillbox key', () => {
  it('makes a key that is on standard output alone, and kept nowhere', async () => {
    const directory = tempDir('keys');
    const env = { SKILLBOX_DATA_DIR: directory, HOME: '/nonexistent' };
    const made = await run(['key', 'create', 'ci', '--scope', 'run', '--scope', 'publish', '--expires', '30d'], {
      env,
    });
    expect(made.code, made.err).toBe(0);
    const text = made.out.trim();
    expect(text).toMatch(KEY);
    expect(made.err).toContain('run,publish');
    expect(made.err).not.toContain(text);
    const secret = text.split('_').slice(2).join('_').slice(0, 43);
    const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      expect(readFileSync(join(file.parentPath, file.name)).includes(secret), file.name).toBe(false);
  });

  it('lists, rotates and revokes', async () => {
    const skillbox = at();
    expect((await skillbox('key', 'list')).err).toContain('no keys yet');
    const { key, secret } = JSON.parse((await skillbox('key', 'create', 'ci', '--json')).out) as {
      key: { id: string; scopes: string[]; tenant: string; expiresAt: string | null };
      secret: string;
    };
    expect([key.scopes, key.tenant, key.expiresAt]).toEqual([['read'], 'default', null]);
    expect(KEY.exec(secret)?.[1]).toBe(key.id);
    expect((await skillbox('key', 'list')).out).toContain(`${key.id}  ci  default  read  no end  never used`);
    const rotated = await skillbox('key', 'rotate', key.id, '--overlap', '2h');
    expect([rotated.code, KEY.exec(rotated.out.trim())?.[1]]).toEqual([0, key.id]);
    expect(rotated.out.trim()).not.toBe(secret);
    expect(rotated.err).toContain('works for 2h more');
    expect((await skillbox('key', 'rotate', key.id, '--overlap', '0s')).code).toBe(0);
    expect((await skillbox('key', 'revoke', key.id)).out).toBe(`revoked ${key.id}\n`);
    expect((await skillbox('key', 'list')).out).toContain('revoked');
    expect((await skillbox('key', 'rotate', key.id)).code).toBe(4);
  });

  it('whoever has the whole key at hand gives that: its id is taken from it, and no more is said of it', async () => {
    const skillbox = at();
    const secret = (await skillbox('key', 'create', 'leaked')).out.trim();
    const rotated = (await skillbox('key', 'rotate', secret)).out.trim();
    expect(KEY.exec(rotated)?.[1]).toBe(KEY.exec(secret)?.[1]);
    expect((await skillbox('key', 'revoke', rotated)).out).toBe(`revoked ${KEY.exec(secret)?.[1]}\n`);
    const other = secret[20] === 'x' ? 'y' : 'x';
    const { err } = await skillbox('key', 'revoke', `${secret.slice(0, 20)}${other}${secret.slice(21)}`);
    expect(err).toContain('no such key');
    expect(err).not.toContain(secret.slice(32));
  });

  it.each([
    [['key', 'create', 'x', '--scope', 'all'], 2, '--scope is'],
    [['key', 'create', 'x', '--expires', 'soon'], 2, 'no duration'],
    [['key', 'create', 'x', '--tenant', 'nobody'], 5, 'no tenant'],
    [['key', 'create', ''], 2, 'NAME is empty'],
    [['key', 'create', ' '], 2, 'visible characters'],
    [['key', 'revoke', '01'], 5, 'no such key'],
    [['key', 'rotate', '01'], 5, 'no such key'],
    [['key', 'list', '--tenant', '../x'], 0, 'no keys yet'],
  ])('%j: %i', async (words, code, text) => {
    const ran = await at()(...words);
    expect([ran.code, ran.err]).toEqual([code, expect.stringContaining(text)]);
  });
});

describe('skillbox tenant', () => {
  it('makes tenants, with keys of their own', async () => {
    const skillbox = at();
    const made = await skillbox('tenant', 'create', 'acme', '--running', '3', '--storage', '2Gi', '--requests', '90');
    expect(made.out).toContain('0/3 running');
    expect(made.out).toContain('0 B of 2 GiB');
    expect((await skillbox('key', 'create', 'x', '--tenant', 'acme')).code).toBe(0);
    expect((await skillbox('key', 'list', '--tenant', 'acme', '--json')).out).toContain('"tenant": "acme"');
    expect((await skillbox('tenant', 'update', 'acme', '--disable')).out).toContain('disabled');
    const json = JSON.parse((await skillbox('tenant', 'update', 'acme', '--enable', '--queued', '5', '--json')).out);
    expect(json.tenant).toMatchObject({ disabledAt: null, quotas: { running: 3, queued: 5 }, usage: { running: 0 } });
    expect((await skillbox('tenant', 'list')).out).toContain('acme');
  });

  it.each([
    [['tenant', 'create', 'Not Good'], 2],
    [['tenant', 'create', 'x', '--running', 'many'], 2],
    [['tenant', 'create', 'x', '--storage', 'lots'], 2],
    [['tenant', 'update', 'nobody', '--disable'], 5],
    [['tenant', 'update', 'x', '--disable', '--enable'], 2],
  ])('%j: %i', async (words, code) => {
    expect((await at()(...words)).code).toBe(code);
  });
});
