import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { SecretRow, Store } from '../../src/store/index.ts';
import { newEvent } from '../support/events.ts';
import type { StoreSubject } from './store.ts';

const secretRow = (changes: Partial<SecretRow> = {}): SecretRow => ({
  tenant: 'a',
  name: 'TOKEN',
  version: 1,
  kind: 'custom',
  hosts: ['example.org', 'é'],
  createdAt: 1_700_000_000_000,
  changedAt: 1_700_000_000_001,
  usedAt: null,
  wrapped: Buffer.from([0, 1, 254, 255]),
  sealed: Buffer.alloc(1000, 7),
  ...changes,
});
const EVENTS = [newEvent({ type: 'secret.set', subject: 'TOKEN' })];

/** What every store must hold of sealed secrets: one version after the other, all under one key. */
export function secretsContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: secrets`, () => {
    const opened: { subject: StoreSubject; store: Store }[] = [];
    let subject: StoreSubject;
    let store: Store;
    beforeEach(async () => {
      subject = await make();
      store = await subject.open();
      opened.push({ subject, store });
    });
    afterAll(async () => {
      for (const each of opened) {
        await each.store.close();
        await each.subject.close();
      }
    });
    const told = async () => (await store.journal.heads()).reduce((sum, { seq }) => sum + seq, 0);
    const write = (changes: Partial<SecretRow> = {}, keyId = 'key') =>
      store.secrets.write({ row: secretRow(changes), keyId, events: EVENTS });

    it('a row comes back byte by byte, also through another handle, and to its tenant alone', async () => {
      expect(await store.secrets.keyId()).toBeNull();
      expect(await write()).toBe('written');
      const other = await subject.open();
      expect(await other.secrets.get('a', 'TOKEN')).toEqual(secretRow());
      expect(await other.secrets.get('b', 'TOKEN')).toBeNull();
      expect(await other.secrets.list('b')).toEqual([]);
      expect(await other.secrets.keyId()).toBe('key');
      await other.close();
      expect(await told()).toBe(1);
    });

    it('versions follow one another; of two at once one is written', async () => {
      expect(await write({ version: 2 })).toBe('stale');
      expect((await Promise.all([write(), write(), write()])).filter(one => one === 'written')).toHaveLength(1);
      expect(await write({ version: 3 })).toBe('stale');
      expect(await write({ version: 2, sealed: Buffer.from('new') })).toBe('written');
      expect((await store.secrets.get('a', 'TOKEN'))?.sealed.toString()).toBe('new');
      expect(await told()).toBe(2);
    });

    it('nothing is written under another key', async () => {
      await write();
      expect(await write({ name: 'OTHER' }, 'another')).toBe('other-key');
      expect((await store.secrets.list('a')).map(row => row.name)).toEqual(['TOKEN']);
      expect(await told()).toBe(1);
    });

    it('lists by name, remembers the last use, and forgets', async () => {
      for (const one of ['b', 'A', 'a']) await write({ name: one });
      await store.secrets.touch('a', ['A', 'b', 'nothing'], 42);
      await store.secrets.touch('b', ['a'], 43);
      expect((await store.secrets.list('a')).map(row => [row.name, row.usedAt])).toEqual([
        ['A', 42],
        ['a', null],
        ['b', 42],
      ]);
      expect(await store.secrets.remove('b', 'A', EVENTS)).toBe(false);
      expect(await store.secrets.remove('a', 'A', EVENTS)).toBe(true);
      expect(await store.secrets.remove('a', 'A', EVENTS)).toBe(false);
      expect(await store.secrets.get('a', 'A')).toBeNull();
      expect(await told()).toBe(4);
    });

    it('are under no key once there are none, of any tenant: the next may come under another', async () => {
      await write();
      await write({ tenant: 'b' });
      await store.secrets.remove('a', 'TOKEN', EVENTS);
      expect([await store.secrets.keyId(), await write({}, 'another')]).toEqual(['key', 'other-key']);
      await store.secrets.remove('b', 'TOKEN', EVENTS);
      expect(await store.secrets.keyId()).toBeNull();
      expect(await store.secrets.rekey({ from: 'key', to: 'next', rewrap: row => row.wrapped, events: EVENTS })).toBe(
        false,
      );
      expect(await write({}, 'another')).toBe('written');
      expect(await store.secrets.keyId()).toBe('another');
    });

    it('a new key is for every row of every tenant, or for none', async () => {
      await write();
      await write({ tenant: 'b', name: 'OTHER' });
      const rekey = (from: string, rewrap: (row: SecretRow) => Buffer) =>
        store.secrets.rekey({ from, to: 'next', rewrap, events: EVENTS });
      expect(await rekey('another', () => Buffer.alloc(1))).toBe(false);
      let turn = 0;
      const breaks = () => {
        turn++;
        if (turn === 2) throw new Error('it breaks');
        return Buffer.from('half');
      };
      await expect(rekey('key', breaks)).rejects.toThrow('it breaks');
      expect((await store.secrets.get('a', 'TOKEN'))?.wrapped).toEqual(secretRow().wrapped);
      expect([await store.secrets.keyId(), await told()]).toEqual(['key', 2]);
      expect(await rekey('key', row => Buffer.from(`${row.tenant}/${row.name}`))).toBe(true);
      expect((await store.secrets.get('a', 'TOKEN'))?.wrapped.toString()).toBe('a/TOKEN');
      expect((await store.secrets.get('b', 'OTHER'))?.wrapped.toString()).toBe('b/OTHER');
      expect([await store.secrets.keyId(), await told()]).toEqual(['next', 3]);
    });
  });
}
