import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { openVault } from '../../src/secrets/index.ts';
import type { SecretRows } from '../../src/store/index.ts';
import { TESTER } from '../support/events.ts';
import { eventsIn, openTestVault, valueIn } from '../support/secrets.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const CHILD = join(import.meta.dirname, '../support/vault-child.ts');
const NAMES = ['anthropic', 'openai', 'custom/shared'];

async function filled(): Promise<string> {
  const directory = tempDir('rekey');
  const { store, vault } = openTestVault(directory);
  for (const name of NAMES) {
    await vault.set({ name, value: Buffer.from(`value of ${name}`), hosts: null, fallbackHosts: [] }, TESTER);
  }
  await store.close();
  return directory;
}

async function runChild(
  directory: string,
  what: string,
  name = '',
): Promise<{ code: number | null; signal: string | null }> {
  const child = spawn(process.execPath, [CHILD, directory, what, name], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal };
}

async function expectWhole(directory: string): Promise<void> {
  const { store, vault } = openTestVault(directory);
  for (const name of NAMES) expect(await valueIn(vault, name)).toBe(`value of ${name}`);
  await store.close();
}

const keyIn = (directory: string) => readFileSync(join(directory, 'master.key'), 'utf8');

describe('re-keying', () => {
  test('changes the key and every data key, no value, and is told', async () => {
    const directory = await filled();
    const before = keyIn(directory);
    const { store, vault } = openTestVault(directory);
    const rows = await store.secrets.list('');
    expect(await vault.rekey(null, TESTER)).toBe(3);
    const after = await store.secrets.list('');
    expect(keyIn(directory)).not.toBe(before);
    for (const [index, row] of rows.entries()) {
      expect(after[index]?.sealed).toEqual(row.sealed);
      expect(after[index]?.wrapped).not.toEqual(row.wrapped);
    }
    const [told] = (await eventsIn(store)).filter(({ type }) => type === 'vault.rekeyed');
    expect(told?.data).toMatchObject({ before: expect.any(String), after: expect.any(String) });
    expect(JSON.stringify(told)).not.toContain(keyIn(directory).trim());
    await store.close();
    await expectWhole(directory);
    expect(readdirSync(directory).filter(name => name.includes('.next') || name.includes('.part'))).toEqual([]);
  });

  test('the old key opens nothing any more', async () => {
    const directory = await filled();
    const old = keyIn(directory).trim();
    const { store, vault } = openTestVault(directory);
    await vault.rekey(null, TESTER);
    await store.close();
    const stale = openTestVault(directory, { kind: 'text', text: old, from: 'SKILLBOX_MASTER_KEY' });
    await expect(valueIn(stale.vault, 'anthropic')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });

  test("to a file of the operator's", async () => {
    const directory = await filled();
    const path = join(directory, 'ours.key');
    const { store, vault } = openTestVault(directory);
    await vault.rekey({ kind: 'file', path }, TESTER);
    await expect(valueIn(vault, 'anthropic')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
    await store.close();
    // The old one would still open every older copy of the store.
    expect(existsSync(join(directory, 'master.key'))).toBe(false);
    const moved = openTestVault(directory, { kind: 'file', path });
    expect(await valueIn(moved.vault, 'anthropic')).toBe('value of anthropic');
    await expect(moved.vault.rekey({ kind: 'file', path }, TESTER)).rejects.toMatchObject({ code: 'USAGE' });
    expect(await valueIn(moved.vault, 'anthropic')).toBe('value of anthropic');
    await expect(moved.vault.rekey(null, TESTER)).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('to the file that the key is in: nothing is changed, and nothing lost', async () => {
    const directory = await filled();
    const { store, vault } = openTestVault(directory);
    const path = join(directory, 'master.key');
    await expect(vault.rekey({ kind: 'file', path }, TESTER)).rejects.toMatchObject({ code: 'USAGE' });
    await store.close();
    await expectWhole(directory);
  });

  test('killed inside its transaction: everything is under the old key', async () => {
    const directory = await filled();
    const before = keyIn(directory);
    expect((await runChild(directory, 'die-in')).signal).toBe('SIGKILL');
    expect(keyIn(directory)).toBe(before);
    await expectWhole(directory);
  });

  test('killed before the key file was changed: everything is under the new key, which takes its place', async () => {
    const directory = await filled();
    const before = keyIn(directory);
    expect((await runChild(directory, 'die-after')).signal).toBe('SIGKILL');
    expect(keyIn(directory)).toBe(before);
    await expectWhole(directory);
    expect(keyIn(directory)).not.toBe(before);
    await expectWhole(directory);
  });

  test('between sealing a value and writing it: the value is sealed anew', async () => {
    const directory = await filled();
    const { store, vault } = openTestVault(directory);
    let rekeyed = 0;
    const rows: SecretRows = {
      ...store.secrets,
      write: async change => {
        if (rekeyed++ === 0) await vault.rekey(null, TESTER);
        return store.secrets.write(change);
      },
    };
    const slow = openVault({ rows, key: { kind: 'own', path: join(directory, 'master.key') }, tenant: null });
    await slow.rotate('openai', Buffer.from('a new value'), TESTER);
    expect(rekeyed).toBe(2);
    expect(await valueIn(vault, 'openai')).toBe('a new value');
    expect((await vault.get('openai'))?.version).toBe(2);
    await store.close();
  });

  test.each(['get', 'keyId'] as const)(
    'after a look at %s and before the next step: whoever opens a secret looks again',
    async what => {
      const directory = await filled();
      const { store, vault } = openTestVault(directory);
      let looks = 0;
      const late = async <T>(look: () => Promise<T>): Promise<T> => {
        const found = await look();
        if (looks++ === 0) await vault.rekey(null, TESTER);
        return found;
      };
      const rows: SecretRows = {
        ...store.secrets,
        ...(what === 'get'
          ? { get: (tenant, name) => late(() => store.secrets.get(tenant, name)) }
          : { keyId: () => late(() => store.secrets.keyId()) }),
      };
      const slow = openVault({ rows, key: { kind: 'own', path: join(directory, 'master.key') }, tenant: null });
      expect(await valueIn(slow, 'openai')).toBe('value of openai');
      expect(looks).toBeGreaterThan(1);
      await store.close();
    },
  );

  test('rows that were changed and may not be on the disk: the old key stays until somebody opens them under the new one', async () => {
    const directory = await filled();
    const before = keyIn(directory);
    const { store } = openTestVault(directory);
    const rows: SecretRows = {
      ...store.secrets,
      rekey: async change => {
        await store.secrets.rekey(change);
        throw new SkillboxError('UNWRITABLE', 'cannot bring it to the disk');
      },
    };
    const vault = openVault({ rows, key: { kind: 'own', path: join(directory, 'master.key') }, tenant: null });
    await expect(vault.rekey(null, TESTER)).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(keyIn(directory)).toBe(before);
    await store.close();
    await expectWhole(directory);
    expect(keyIn(directory)).not.toBe(before);
  });

  test('into a file of the operator: our own key goes, unless another stands in its place by then', async () => {
    for (const other of [null, `${'ab'.repeat(32)}\n`]) {
      const directory = await filled();
      const own = join(directory, 'master.key');
      const { store } = openTestVault(directory);
      const rows: SecretRows = {
        ...store.secrets,
        rekey: async change => {
          const done = await store.secrets.rekey(change);
          if (other !== null) writeFileSync(own, other);
          return done;
        },
      };
      const vault = openVault({ rows, key: { kind: 'own', path: own }, tenant: null });
      await vault.rekey({ kind: 'file', path: join(directory, 'mine.key') }, TESTER);
      expect(existsSync(own) ? keyIn(directory) : null).toBe(other);
      await store.close();
    }
  });

  test('a row that does not open: nothing is changed', async () => {
    const directory = await filled();
    const before = keyIn(directory);
    const { store, vault } = openTestVault(directory);
    const rows = store.secrets;
    const row = await rows.get('', 'openai');
    if (row === null) throw new Error('no row');
    // A row that was sealed for another version, as a careless restore would leave it.
    await rows.write({ row: { ...row, version: 2 }, keyId: (await rows.keyId()) ?? '', events: [] });
    await expect(vault.rekey(null, TESTER)).rejects.toMatchObject({ code: 'VAULT_DAMAGED' });
    expect(keyIn(directory)).toBe(before);
    expect(await valueIn(vault, 'anthropic')).toBe('value of anthropic');
    expect(readdirSync(directory).filter(name => name.includes('.next'))).toEqual([]);
    await store.close();
  });
});

describe('several processes', () => {
  test('that set, rotate and re-key at once lose nothing', { timeout: 120_000 }, async () => {
    const directory = await filled();
    const ended = await Promise.all([
      runChild(directory, 'rotate', 'first'),
      runChild(directory, 'rotate', 'second'),
      runChild(directory, 'rekey').catch(() => null),
    ]);
    expect(ended.slice(0, 2)).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    const { store, vault } = openTestVault(directory);
    // One value before them, and 25 of each: no version was taken twice.
    expect((await vault.get('custom/shared'))?.version).toBe(51);
    expect(await valueIn(vault, 'custom/shared')).toMatch(/^(first|second) value 24$/);
    expect(await valueIn(vault, 'anthropic')).toBe('value of anthropic');
    await store.close();
  });

  test('that make the first secret at once make one key', { timeout: 60_000 }, async () => {
    const directory = tempDir('rekey');
    const ended = await Promise.all(['a', 'b', 'c'].map(name => runChild(directory, 'rotate', name)));
    expect(ended).toEqual(ended.map(() => ({ code: 0, signal: null })));
    const { store, vault } = openTestVault(directory);
    expect((await vault.get('custom/shared'))?.version).toBe(75);
    expect(await valueIn(vault, 'custom/shared')).toMatch(/^[abc] value 24$/);
    await store.close();
  });
});
