import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit/index.ts';
import type { KeyRow, Store, TenantRow } from '../../src/store/index.ts';
import type { StoreSubject } from './store.ts';

const tenantOf = (name: string, changes: Partial<TenantRow> = {}): TenantRow => ({
  name,
  createdAt: 1_700_000_000_000,
  disabledAt: null,
  quotas: { running: 4, queued: 100, storageBytes: 2 ** 40, requestsPerMinute: 600 },
  ...changes,
});

const keyOf = (id: string, tenant: string, changes: Partial<KeyRow> = {}): KeyRow => ({
  id,
  tenant,
  name: 'ci "quoted" \u00e9',
  scopes: ['read', 'run'],
  hash: 'a'.repeat(64),
  previous: null,
  derived: false,
  createdAt: 1_700_000_000_001,
  createdBy: 'uid:0',
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
  ...changes,
});

const eventOf = (type: AuditEvent['type'], tenant: string): AuditEvent => ({
  type,
  actor: { id: 'tester', channel: 'rest' },
  tenant,
  subject: 'x',
  data: {},
});

/** What every store must hold of tenants and keys. */
export function tenantsContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: tenants and keys`, () => {
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

    it('a tenant comes back as it was, also through another handle', async () => {
      const row = tenantOf('acme', { disabledAt: 5 });
      expect(await store.tenants.get('acme')).toBeNull();
      expect(await store.tenants.insert(row, [eventOf('tenant.created', 'acme')])).toBe(true);
      const other = await subject.open();
      expect(await other.tenants.get('acme')).toEqual(row);
      await other.close();
      expect(await told()).toBe(1);
    });

    it('a name is taken once, and nothing is told of the second', async () => {
      expect(await store.tenants.insert(tenantOf('acme'), [])).toBe(true);
      const second = tenantOf('acme', { createdAt: 9, disabledAt: 9 });
      expect(await store.tenants.insert(second, [eventOf('tenant.created', 'acme')])).toBe(false);
      expect([await store.tenants.get('acme'), await told()]).toEqual([tenantOf('acme'), 0]);
    });

    it('tenants come by name, page by page', async () => {
      for (const each of ['c', 'a', 'b-1', 'b']) await store.tenants.insert(tenantOf(each), []);
      const names = async (limit: number, after: string | null) =>
        (await store.tenants.list(limit, after)).map(row => row.name);
      expect(await names(3, null)).toEqual(['a', 'b', 'b-1']);
      expect(await names(3, 'b-1')).toEqual(['c']);
      expect(await names(3, 'c')).toEqual([]);
    });

    it('a tenant changes together with what is told of it, or not at all', async () => {
      await store.tenants.insert(tenantOf('acme'), []);
      const quotas = { running: 1, queued: 1, storageBytes: 1, requestsPerMinute: 1 };
      const changed = tenantOf('acme', { disabledAt: 7, quotas });
      const told1 = [eventOf('tenant.changed', 'acme')];
      expect(await store.tenants.update(tenantOf('acme'), changed, told1)).toBe(true);
      expect(await store.tenants.get('acme')).toEqual(changed);
      const nobody = tenantOf('nobody');
      expect(await store.tenants.update(nobody, nobody, [eventOf('tenant.changed', 'nobody')])).toBe(false);
      expect(await told()).toBe(1);
    });

    it('of two who read a tenant and write it at once, one is told to look again', async () => {
      const row = tenantOf('acme');
      await store.tenants.insert(row, []);
      const other = await subject.open();
      const stopped = { ...row, disabledAt: 7 };
      const larger = { ...row, quotas: { ...row.quotas, running: 9 } };
      const both = await Promise.all([
        store.tenants.update(row, stopped, [eventOf('tenant.changed', 'acme')]),
        other.tenants.update(row, larger, [eventOf('tenant.changed', 'acme')]),
      ]);
      expect(both.filter(Boolean)).toHaveLength(1);
      expect(await store.tenants.get('acme')).toEqual(both[0] ? stopped : larger);
      await other.close();
      expect(await told()).toBe(1);
    });

    it('a key comes back as it was, also through another handle', async () => {
      const previous = { hash: 'b'.repeat(64), until: 8 };
      const row = keyOf('k1', 'acme', { previous, derived: true, expiresAt: 9, lastUsedAt: 3 });
      await store.keys.insert(row, [eventOf('key.created', 'acme')]);
      const other = await subject.open();
      expect(await other.keys.get('k1')).toEqual(row);
      expect(await other.keys.get('k2')).toBeNull();
      await other.close();
      expect(await told()).toBe(1);
    });

    it('of several who make the first key at once, one does', async () => {
      const others = await Promise.all([1, 2, 3].map(() => subject.open()));
      const tries = [store, ...others].map((each, at) =>
        each.keys.insertFirst(keyOf(`k${at}`, 'acme'), [eventOf('key.created', 'acme')]),
      );
      expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
      expect(await store.keys.list(null, 10, null)).toHaveLength(1);
      expect(await store.keys.insertFirst(keyOf('k9', 'acme'), [])).toBe(false);
      expect(await told()).toBe(1);
      for (const each of others) await each.close();
    });

    it('an id is taken once, and nothing is told of the second', async () => {
      await store.keys.insert(keyOf('k1', 'acme'), []);
      await expect(store.keys.insert(keyOf('k1', 'beta'), [eventOf('key.created', 'beta')])).rejects.toThrow();
      expect([(await store.keys.get('k1'))?.tenant, await told()]).toEqual(['acme', 0]);
    });

    it('keys of one tenant, or of all, come by id, page by page', async () => {
      for (const [id, tenant] of [
        ['k3', 'acme'],
        ['k1', 'acme'],
        ['k2', 'beta'],
        ['k4', 'acme'],
      ] as const)
        await store.keys.insert(keyOf(id, tenant), []);
      const ids = async (tenant: string | null, limit: number, after: string | null) =>
        (await store.keys.list(tenant, limit, after)).map(row => row.id);
      expect(await ids('acme', 2, null)).toEqual(['k1', 'k3']);
      expect(await ids('acme', 2, 'k3')).toEqual(['k4']);
      expect(await ids(null, 10, 'k1')).toEqual(['k2', 'k3', 'k4']);
      expect(await ids('nobody', 10, null)).toEqual([]);
    });

    it('a key changes with what is told of it, but neither its tenant nor its last use', async () => {
      const row = keyOf('k1', 'acme', { lastUsedAt: 50 });
      await store.keys.insert(row, []);
      const changed = {
        ...row,
        hash: 'c'.repeat(64),
        previous: { hash: row.hash, until: 99 },
        scopes: [],
        expiresAt: 7,
      };
      const wish = { ...changed, tenant: 'beta', lastUsedAt: 1 };
      const { hash } = row;
      expect(await store.keys.update(wish, hash, [eventOf('key.rotated', 'acme')])).toBe(true);
      expect(await store.keys.get('k1')).toEqual(changed);
      // Of those who read the same secret one gets on.
      expect(await store.keys.update(wish, hash, [eventOf('key.rotated', 'acme')])).toBe(false);
      expect(await store.keys.update(keyOf('k9', 'acme'), hash, [eventOf('key.rotated', 'acme')])).toBe(false);
      expect(await told()).toBe(1);
    });

    it('a revoked key stays revoked, whoever writes it later', async () => {
      const row = keyOf('k1', 'acme');
      await store.keys.insert(row, []);
      const other = await subject.open();
      const [first, second] = await Promise.all(
        [store, other].map(each =>
          each.keys.update({ ...row, revokedAt: 5 }, row.hash, [eventOf('key.revoked', 'acme')]),
        ),
      );
      expect([first, second].filter(Boolean)).toHaveLength(1);
      // Read before it was revoked, written after.
      expect(
        await other.keys.update({ ...row, hash: 'd'.repeat(64) }, row.hash, [eventOf('key.rotated', 'acme')]),
      ).toBe(false);
      await other.close();
      expect(await store.keys.get('k1')).toMatchObject({ revokedAt: 5, hash: row.hash });
      expect(await told()).toBe(1);
    });

    it('the last use goes forward only', async () => {
      await store.keys.insert(keyOf('k1', 'acme'), []);
      for (const at of [100, 50]) await store.keys.touch('k1', at);
      expect((await store.keys.get('k1'))?.lastUsedAt).toBe(100);
      await store.keys.touch('nothing', 1);
    });
  });
}
