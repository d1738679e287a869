import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openVault, type Vault } from '../../src/secrets/index.ts';
import { TESTER } from '../support/events.ts';
import { eventsIn, openTestVault, valueIn } from '../support/secrets.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const VALUE = 'sk-ant-0123456789abcdef';

async function put(vault: Vault, name: string, value = VALUE, hosts: string[] | null = null): Promise<void> {
  await vault.set({ name, value: Buffer.from(value), hosts, fallbackHosts: [] }, TESTER);
}

/** Changes the database as somebody with write access to the file would. */
function tamper(directory: string, sql: string, ...values: (string | number | Uint8Array)[]): void {
  const database = new DatabaseSync(join(directory, 'skillbox.db'));
  database.prepare(sql).run(...values);
  database.close();
}

async function filled(): Promise<{ directory: string; vault: Vault }> {
  const directory = tempDir('vault');
  const { store, vault } = openTestVault(directory);
  await put(vault, 'anthropic');
  await put(vault, 'custom/one', 'the value of one');
  await put(vault, 'custom/two', 'the value of two', ['api.example.com']);
  await store.close();
  return { directory, vault: openTestVault(directory).vault };
}

describe('the vault', () => {
  test('keeps values, counts versions, and says everything but the value', async () => {
    const { store, vault } = openTestVault(tempDir('vault'));
    await put(vault, 'anthropic');
    await put(vault, 'custom/deploy-token', 'first value', ['Deploy.Example.com', 'deploy.example.com']);
    for (const value of ['two\nlines', ''])
      await expect(vault.rotate('custom/deploy-token', Buffer.from(value), TESTER)).rejects.toMatchObject({
        code: 'SECRET_INVALID',
      });
    const rotated = await vault.rotate('custom/deploy-token', Buffer.from('second value'), TESTER);
    expect(rotated).toMatchObject({ kind: 'custom', version: 2, hosts: ['deploy.example.com'], usedAt: null });
    expect(await valueIn(vault, 'custom/deploy-token')).toBe('second value');
    await vault.markUsed(['anthropic']);
    const listed = await vault.list();
    expect(listed.map(({ name, kind, version }) => [name, kind, version])).toEqual([
      ['anthropic', 'provider', 1],
      ['custom/deploy-token', 'custom', 2],
    ]);
    expect(listed[0]?.usedAt).toBeGreaterThan(0);
    await vault.remove('anthropic', TESTER);
    expect(await valueIn(vault, 'anthropic')).toBeNull();
    await expect(vault.remove('anthropic', TESTER)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const events = await eventsIn(store);
    expect(events.map(({ type, subject }) => [type, subject])).toEqual([
      ['secret.set', 'anthropic'],
      ['secret.set', 'custom/deploy-token'],
      ['secret.set', 'custom/deploy-token'],
      ['secret.removed', 'anthropic'],
    ]);
    expect(JSON.stringify([events, listed])).not.toMatch(/sk-ant|first value|second value/);
  });

  test('a replaced secret stays bound to its hosts until somebody says otherwise', async () => {
    const { vault } = openTestVault(tempDir('vault'));
    await put(vault, 'custom/x', 'the first one', ['a.example.com']);
    await put(vault, 'custom/x', 'the second one');
    expect((await vault.get('custom/x'))?.hosts).toEqual(['a.example.com']);
    await put(vault, 'custom/x', 'the third one', []);
    expect((await vault.get('custom/x'))?.hosts).toEqual([]);
  });

  test('no value is on the disk in any plain form', async () => {
    const { directory } = await filled();
    const forms = [VALUE, Buffer.from(VALUE).toString('base64'), Buffer.from(VALUE).toString('hex')];
    for (const file of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
      const path = join(directory, file);
      if (!statSync(path).isFile()) continue;
      const bytes = readFileSync(path);
      for (const form of forms) expect(bytes.includes(form), file).toBe(false);
    }
    expect(statSync(join(directory, 'master.key')).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['', 'it is empty'],
    ['a\0bcdefgh', 'NUL'],
    ['x'.repeat(64 * 1024 + 1), 'at most 65536'],
    ['line one\nline two', 'line break'],
  ])('a value that cannot be kept is refused without being told: %j', async (value, why) => {
    const { vault } = openTestVault(tempDir('vault'));
    const told = await put(vault, 'anthropic', value).catch((error: Error) => error);
    expect(told).toMatchObject({ code: 'SECRET_INVALID' });
    expect(String(told)).toContain(why);
    if (value !== '') expect(JSON.stringify(told)).not.toContain(value.slice(0, 20));
  });

  test('bytes that are no text are refused; several lines are fine where no request carries them', async () => {
    const { vault } = openTestVault(tempDir('vault'));
    const wish = {
      name: 'custom/x',
      value: Buffer.from([0xff, 0xfe, 1, 2, 3, 4, 5, 6]),
      hosts: null,
      fallbackHosts: [],
    };
    await expect(vault.set(wish, TESTER)).rejects.toMatchObject({ code: 'SECRET_INVALID' });
    await put(vault, 'custom/pem', 'line one\nline two\n');
    expect(await valueIn(vault, 'custom/pem')).toBe('line one\nline two\n');
  });

  test.each(['Anthropic', 'custom', 'custom/', 'custom/a/b', 'custom/*', '../x', '__proto__/x', 'a'.repeat(65), 'x=y'])(
    'SK-04 %j is no name, and the error does not repeat it',
    async name => {
      const { vault } = openTestVault(tempDir('vault'));
      const told = await put(vault, name).catch((error: Error) => error);
      expect(told).toMatchObject({ code: 'SECRET_INVALID' });
      expect(String(told)).not.toContain(name === 'custom' ? 'custom is' : name);
    },
  );

  test.each(['*.example.com', 'a.example.com/path', '0x7f.1', 'user@host', 'a b', 'https://', 'exämple.com', 'h\0st'])(
    'the host %j is refused',
    async host => {
      const { vault } = openTestVault(tempDir('vault'));
      await expect(put(vault, 'custom/x', VALUE, [host])).rejects.toMatchObject({ code: 'SECRET_INVALID' });
    },
  );
});

describe('what somebody else wrote into the store', () => {
  test.each(['wrapped', 'sealed'])('a flipped bit of %s: the value does not open', async column => {
    const { directory, vault } = await filled();
    const database = new DatabaseSync(join(directory, 'skillbox.db'));
    const row = database.prepare(`SELECT ${column} AS bytes FROM secrets WHERE name = 'custom/one'`).get();
    const bytes = Buffer.from(row?.bytes as Uint8Array);
    database.close();
    for (const at of [0, 12, 28, bytes.length - 1]) {
      const wrong = Buffer.from(bytes);
      wrong[at] = (wrong[at] ?? 0) ^ 1;
      tamper(directory, `UPDATE secrets SET ${column} = ? WHERE name = 'custom/one'`, wrong);
      await expect(valueIn(vault, 'custom/one')).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
    }
    tamper(directory, `UPDATE secrets SET ${column} = ? WHERE name = 'custom/one'`, bytes.subarray(0, 20));
    await expect(valueIn(vault, 'custom/one')).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
    tamper(directory, `UPDATE secrets SET ${column} = ? WHERE name = 'custom/one'`, bytes);
    expect(await valueIn(vault, 'custom/one')).toBe('the value of one');
  });

  test.each([
    [
      'the sealed value of another row',
      "UPDATE secrets SET (wrapped, sealed) = (SELECT wrapped, sealed FROM secrets WHERE name = 'anthropic') WHERE name = 'custom/one'",
    ],
    ['another class', "UPDATE secrets SET kind = 'provider' WHERE name = 'custom/one'"],
    ['another version', "UPDATE secrets SET version = 7 WHERE name = 'custom/one'"],
    ['other hosts', "UPDATE secrets SET hosts = '[\"evil.example\"]' WHERE name = 'custom/one'"],
    ['hosts that are no list', "UPDATE secrets SET hosts = 'x' WHERE name = 'custom/one'"],
  ])('a row with %s does not open', async (_what, sql) => {
    const { directory, vault } = await filled();
    tamper(directory, sql);
    await expect(valueIn(vault, 'custom/one')).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
    expect(await valueIn(vault, 'anthropic')).toBe(VALUE);
  });

  test('SK-10 a binding to hosts cannot be taken off: the secret would be released', async () => {
    const { directory, vault } = await filled();
    tamper(directory, "UPDATE secrets SET hosts = '[]' WHERE name = 'custom/two'");
    await expect(valueIn(vault, 'custom/two')).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
  });

  test('a provider key cannot be renamed into a custom secret', async () => {
    const { directory, vault } = await filled();
    tamper(directory, "DELETE FROM secrets WHERE name = 'custom/one'");
    tamper(directory, "UPDATE secrets SET name = 'custom/one', kind = 'custom' WHERE name = 'anthropic'");
    await expect(valueIn(vault, 'custom/one')).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
  });

  test('a row that is given to another tenant does not open', async () => {
    const { directory, vault } = await filled();
    tamper(directory, "UPDATE secrets SET tenant = 'other' WHERE name = 'custom/one'");
    expect(await valueIn(vault, 'custom/one')).toBeNull();
    // Nor there, where its name and all else is as it was.
    const key = { kind: 'own', path: join(directory, 'master.key') } as const;
    const theirs = openVault({ rows: openTestVault(directory).store.secrets, key, tenant: 'other' });
    expect((await theirs.list()).map(({ name }) => name)).toEqual(['custom/one']);
    await expect(valueIn(theirs, 'custom/one')).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
  });
});

describe('the master key', () => {
  test('a wrong one is refused, and nothing is stored under it', async () => {
    const { directory } = await filled();
    const wrong = { kind: 'text', text: randomBytes(32).toString('hex'), from: 'SKILLBOX_MASTER_KEY' } as const;
    const { vault } = openTestVault(directory, wrong);
    const told = await valueIn(vault, 'anthropic').catch((error: Error) => error);
    expect(told).toMatchObject({ code: 'VAULT_LOCKED' });
    expect(JSON.stringify(told)).not.toContain(wrong.text);
    await expect(put(vault, 'openai')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    expect((await openTestVault(directory).vault.list()).map(({ name }) => name)).not.toContain('openai');
  });

  test('one that others may read is refused', async () => {
    const { directory, vault } = await filled();
    for (const mode of [0o640, 0o604, 0o602, 0o660]) {
      chmodSync(join(directory, 'master.key'), mode);
      await expect(valueIn(vault, 'anthropic')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    }
    chmodSync(join(directory, 'master.key'), 0o600);
    expect(await valueIn(vault, 'anthropic')).toBe(VALUE);
  });

  test('a link, a FIFO or an empty file in its place is refused', async () => {
    const { directory, vault } = await filled();
    const path = join(directory, 'master.key');
    const other = join(directory, 'elsewhere');
    writeFileSync(other, readFileSync(path), { mode: 0o600 });
    for (const plant of [
      () => symlinkSync(other, path),
      () => void spawnSync('mkfifo', ['-m', '600', path]),
      () => writeFileSync(path, '', { mode: 0o600 }),
    ]) {
      rmSync(path);
      plant();
      await expect(valueIn(vault, 'anthropic')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    }
  });

  test('a lost one is not replaced in silence', async () => {
    const { directory, vault } = await filled();
    rmSync(join(directory, 'master.key'));
    await expect(put(vault, 'openai')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    expect(existsSync(join(directory, 'master.key'))).toBe(false);
  });

  test.each(['hex', 'base64', 'base64url'] as const)(
    'comes from the environment in %s, and from a file',
    async form => {
      const directory = tempDir('vault');
      const text = randomBytes(32).toString(form);
      const first = openTestVault(directory, { kind: 'text', text, from: 'SKILLBOX_MASTER_KEY' });
      await put(first.vault, 'anthropic');
      const path = join(directory, 'given.key');
      writeFileSync(path, `${text}\n`, { mode: 0o600 });
      expect(await valueIn(openTestVault(directory, { kind: 'file', path }).vault, 'anthropic')).toBe(VALUE);
      expect(existsSync(join(directory, 'master.key'))).toBe(false);
    },
  );

  test.each(['', 'short', 'g'.repeat(64), randomBytes(31).toString('hex'), randomBytes(33).toString('base64')])(
    '%j is no key',
    async text => {
      const { vault } = openTestVault(tempDir('vault'), { kind: 'text', text, from: 'SKILLBOX_MASTER_KEY' });
      await expect(put(vault, 'anthropic')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    },
  );
});
