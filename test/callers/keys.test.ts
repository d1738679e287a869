import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { newKeyText, parseKey, renderKey } from '../../src/callers/key-text.ts';
import { SCOPES } from '../../src/service/index.ts';
import { tidy } from '../support/temp.ts';
import { eventsOf, keeperOf, makeKey, OPERATOR, openGate } from './support.ts';

tidy();
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 }));
afterEach(() => void vi.useRealTimers());
const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
const SECOND = 1000;
const FIRST_PAGE = { limit: 10, after: null };

describe('the text of a key', () => {
  it('is read as it was written, and not with a slip in it', () => {
    const { key, text } = newKeyText(Date.now());
    expect(parseKey(text)).toEqual(key);
    expect(text).toMatch(/^sbx_[0-9a-z]{26}_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/);
    expect(newKeyText(Date.now()).key.secret).not.toBe(key.secret);
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom('a', 'z', '0', '9', '_', '-', 'X', ' '), (at, letter) => {
        const slipped = `${text.slice(0, at)}${letter}${text.slice(at + 1)}`;
        expect(parseKey(slipped)).toEqual(slipped === text ? key : null);
      }),
    );
  });

  it.each(['', 'sbx_', 'sbx__', `sbx_${'a'.repeat(26)}_${'b'.repeat(51)}`, 'a\nb'])('%j is none', text => {
    expect(parseKey(text)).toBeNull();
  });
});

describe('who holds a key', () => {
  it('is who it was made for', async () => {
    const gate = openGate();
    const { id, text } = await makeKey(gate, 'acme', ['run', 'read'], Date.now() + 5000);
    expect(await gate.callers.verify(text)).toEqual({
      tenant: 'acme',
      id,
      key: id,
      scopes: ['read', 'run'],
      expiresAt: Date.now() + 5000,
      requestsPerMinute: 60,
    });
  });

  it('is nobody with another secret, another id, or another kind of token', async () => {
    const gate = openGate();
    const [one, two] = [await makeKey(gate, 'acme'), await makeKey(gate, 'beta')];
    const [first, second] = [parseKey(one.text), parseKey(two.text)];
    if (first === null || second === null) throw new Error('no keys');
    for (const text of [
      renderKey({ id: first.id, secret: second.secret }),
      newKeyText(Date.now()).text,
      one.text.slice(0, -1),
      'eyJhbGciOiJub25lIn0.e30.',
      'anything',
      '',
    ])
      await expect(gate.callers.verify(text), text).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('is nobody once it has expired, also when it was let in a moment ago', async () => {
    const gate = openGate();
    const { text } = await makeKey(gate, 'acme', ['read'], Date.now() + SECOND);
    await gate.callers.verify(text);
    later(999);
    expect(gate.callers.recall(text)).not.toBeNull();
    later(1);
    expect(gate.callers.recall(text)).toBeNull();
    await expect(gate.callers.verify(text)).rejects.toThrow('has expired');
  });

  it('is nobody from the moment on that it is revoked, and after seconds elsewhere', async () => {
    const gate = openGate();
    const other = openGate({}, gate.directory);
    const { id, text } = await makeKey(gate, 'acme');
    await Promise.all([gate, other].map(({ callers }) => callers.verify(text)));
    await gate.callers.keysFor(OPERATOR).revoke(id);
    await expect(gate.callers.verify(text)).rejects.toThrow('was revoked');
    later(3 * SECOND);
    await expect(other.callers.verify(text)).rejects.toThrow('was revoked');
  });

  it('is not remembered when it was revoked while its row was being read', async () => {
    const gate = openGate();
    const { id, text } = await makeKey(gate, 'acme');
    const row = await gate.store.keys.get(id);
    let answer: (found: typeof row) => void = () => undefined;
    const slow = new Promise<typeof row>(resolve => {
      answer = resolve;
    });
    const keys = { ...gate.store.keys, get: () => slow };
    const { callers } = openGate({ keys, tenants: gate.store.tenants });
    const verifying = callers.verify(text);
    await callers.tenantsFor(OPERATOR).update('acme', { quotas: null, disabled: null });
    answer(row);
    await verifying;
    expect(callers.recall(text)).toBeNull();
  });

  it('rotated by two at once opens with what each of them was given, for a while', async () => {
    const gate = openGate();
    const { id } = await makeKey(gate, 'acme');
    const keys = gate.callers.keysFor(OPERATOR);
    const given = await Promise.all([keys.rotate(id, 60), keys.rotate(id, 60)]);
    for (const { secret } of given) expect((await gate.callers.verify(secret)).tenant).toBe('acme');
    const [revoked] = await Promise.all([keys.revoke(id), keys.rotate(id, 60).catch(() => null)]);
    expect(revoked.revokedAt).not.toBeNull();
    for (const { secret } of given) await expect(gate.callers.verify(secret)).rejects.toThrow();
  });

  it('is refused while the tenant is disabled', async () => {
    const gate = openGate();
    const { text } = await makeKey(gate, 'acme');
    const beta = await makeKey(gate, 'beta');
    await gate.callers.verify(text);
    const tenants = gate.callers.tenantsFor(OPERATOR);
    await tenants.update('acme', { quotas: null, disabled: true });
    await expect(gate.callers.verify(text)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await gate.callers.verify(beta.text);
    await tenants.update('acme', { quotas: null, disabled: false });
    expect((await gate.callers.verify(text)).tenant).toBe('acme');
  });

  it('has two secrets for a while after a rotation', async () => {
    const gate = openGate();
    const { id, text } = await makeKey(gate, 'acme');
    const { secret } = await gate.callers.keysFor(OPERATOR).rotate(id, 10);
    expect((await gate.callers.verify(text)).key).toBe(id);
    expect((await gate.callers.verify(secret)).key).toBe(id);
    later(10 * SECOND);
    await expect(gate.callers.verify(text)).rejects.toThrow('not known');
    expect((await gate.callers.verify(secret)).key).toBe(id);
    // A revocation ends both.
    const { secret: third } = await gate.callers.keysFor(OPERATOR).rotate(id, 100);
    await gate.callers.keysFor(OPERATOR).revoke(id);
    for (const each of [secret, third]) await expect(gate.callers.verify(each)).rejects.toThrow();
  });

  it('has one at once when nothing is to overlap', async () => {
    const gate = openGate();
    const { id, text } = await makeKey(gate, 'acme');
    await gate.callers.verify(text);
    await gate.callers.keysFor(OPERATOR).rotate(id, 0);
    await expect(gate.callers.verify(text)).rejects.toThrow('not known');
    await expect(gate.callers.keysFor(OPERATOR).rotate(id, -1)).rejects.toMatchObject({ code: 'USAGE' });
    await gate.callers.keysFor(OPERATOR).revoke(id);
    await expect(gate.callers.keysFor(OPERATOR).rotate(id, 0)).rejects.toMatchObject({ code: 'KEY_REVOKED' });
  });

  it('its last use is written once a minute', async () => {
    const gate = openGate();
    const { id, text } = await makeKey(gate, 'acme');
    const used = async () => (await gate.store.keys.get(id))?.lastUsedAt;
    expect(await used()).toBeNull();
    const start = Date.now();
    await gate.callers.verify(text);
    expect(await used()).toBe(start);
    later(50 * SECOND);
    await gate.callers.verify(text);
    expect(await used()).toBe(start);
    later(10 * SECOND);
    await gate.callers.verify(text);
    expect(await used()).toBe(start + 60 * SECOND);
    expect(gate.warnings).toEqual([]);
  });

  it('is let in also when its last use cannot be written', async () => {
    const gate = openGate();
    const { text } = await makeKey(gate, 'acme');
    const keys = { ...gate.store.keys, touch: () => Promise.reject(new Error('disk full')) };
    const second = openGate({ keys, tenants: gate.store.tenants });
    expect((await second.callers.verify(text)).tenant).toBe('acme');
    await vi.waitFor(() => expect(second.warnings).toHaveLength(1));
  });

  it('nothing that is kept lets anybody in', async () => {
    const gate = openGate();
    const { id, text } = await makeKey(gate, 'acme');
    const row = JSON.stringify(await gate.store.keys.get(id));
    const secret = parseKey(text)?.secret ?? '';
    expect(row).not.toContain(secret);
    expect(JSON.stringify(await eventsOf(gate))).not.toContain(secret);
  });
});

describe('keys are looked after', () => {
  it('in their own tenant only, unless by an admin', async () => {
    const gate = openGate();
    const acme = await makeKey(gate, 'acme');
    await makeKey(gate, 'beta');
    const beta = gate.callers.keysFor(keeperOf('beta', ['read', 'run']));
    const wish = { name: 'x', tenant: 'acme', scopes: ['read'] as const, expiresAt: null };
    for (const attempt of [
      () => beta.revoke(acme.id),
      () => beta.rotate(acme.id, 0),
      () => beta.create(wish),
      () => beta.list({ tenant: 'acme', ...FIRST_PAGE }),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await beta.list({ tenant: null, ...FIRST_PAGE })).items.map(({ tenant }) => tenant)).toEqual(['beta']);
    const admin = gate.callers.keysFor(keeperOf('beta', ['admin']));
    expect((await admin.create(wish)).key.tenant).toBe('acme');
    expect((await admin.list({ tenant: 'acme', ...FIRST_PAGE })).items).toHaveLength(2);
    expect((await admin.revoke(acme.id)).revokedAt).toBe(Date.now());
    await expect(admin.create({ ...wish, tenant: 'nobody' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('and nobody gives, takes or ends more than they have', async () => {
    const gate = openGate();
    const weak = await makeKey(gate, 'acme', ['read']);
    const keeper = gate.callers.keysFor(keeperOf('acme', ['read', 'run'], Date.now() + 60 * SECOND));
    const wish = { name: 'x', tenant: null, scopes: ['read'] as const, expiresAt: null };
    await expect(keeper.create({ ...wish, scopes: ['read', 'admin'] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'this needs the scope admin',
    });
    // Not even of one who may do less: whoever takes a key speaks in its holder's name.
    await expect(keeper.revoke(weak.id)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(keeper.rotate(weak.id, 0)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect((await gate.callers.verify(weak.text)).id).toBe(weak.id);
    // What it makes lives no longer than itself.
    expect((await keeper.create(wish)).key).toMatchObject({
      expiresAt: Date.now() + 60 * SECOND,
      createdBy: 'acme-key',
    });
    expect((await keeper.create({ ...wish, expiresAt: Date.now() + 1 })).key.expiresAt).toBe(Date.now() + 1);
  });

  it("and what is made with a key is the same holder's, and ends with it", async () => {
    const gate = openGate();
    const first = await makeKey(gate, 'acme', ['run', 'approve']);
    const other = await makeKey(gate, 'acme', ['run', 'approve']);
    const wish = { name: 'x', tenant: null, scopes: ['approve'] as const, expiresAt: null };
    const holding = ({ id }: { id: string }) =>
      gate.callers.keysFor({ ...keeperOf('acme', ['run', 'approve']), actor: { id, channel: 'rest' } });
    const second = await holding(first).create(wish);
    const third = await holding(second.key).create(wish);
    for (const { key } of [second, third]) expect(await gate.callers.holderOf(key.id)).toBe(first.id);
    expect(await gate.callers.holderOf(other.id)).toBe(other.id);
    expect(await gate.callers.holderOf('oidc:ann')).toBe('oidc:ann');
    // Downwards they are its own to look after; upwards and beside it they are not.
    await expect(holding(second.key).rotate(first.id, 0)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(holding(other).revoke(third.key.id)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect((await holding(first).rotate(third.key.id, 60)).key.id).toBe(third.key.id);
    expect((await gate.callers.verify(third.secret)).id).toBe(third.key.id);
    await holding(first).revoke(second.key.id);
    await expect(gate.callers.verify(third.secret)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await gate.callers.verify(first.text)).id).toBe(first.id);
  });

  it('there is an end to keys that are made with keys, and an admin begins anew', async () => {
    const gate = openGate();
    const wish = { name: 'x', tenant: null, scopes: ['read'] as const, expiresAt: null };
    const as = (id: string, scopes: readonly ('read' | 'admin')[]) =>
      gate.callers.keysFor({ ...keeperOf('acme', scopes), actor: { id, channel: 'rest' } });
    let { id } = await makeKey(gate, 'acme', ['read']);
    for (let depth = 0; depth < 3; depth++) id = (await as(id, ['read']).create(wish)).key.id;
    await expect(as(id, ['read']).create(wish)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    const made = (await as(id, ['read', 'admin']).create(wish)).key;
    expect(await gate.callers.holderOf(made.id)).toBe(made.id);
  });

  it('a tenant has only so many, unless an admin makes more', async () => {
    const gate = openGate();
    const { id } = await makeKey(gate, 'acme', ['read']);
    const row = await gate.store.keys.get(id);
    if (row === null) throw new Error('no key');
    for (let i = 0; i < 999; i++) await gate.store.keys.insert({ ...row, id: `k${i}`, revokedAt: 1 }, []);
    const wish = { name: 'x', tenant: null, scopes: ['read'] as const, expiresAt: null };
    const keeper = { ...keeperOf('acme', ['read']), actor: { id, channel: 'rest' as const } };
    await expect(gate.callers.keysFor(keeper).create(wish)).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
    expect((await gate.callers.keysFor(keeperOf('acme', ['admin'])).create(wish)).key.tenant).toBe('acme');
  });

  it('also those that a person makes who has no key', async () => {
    const gate = openGate();
    await makeKey(gate, 'acme');
    const ann = {
      ...keeperOf('acme', ['run', 'approve'], Date.now() + 60 * SECOND),
      actor: { id: 'oidc:ann', channel: 'oidc' as const },
    };
    const { key, secret } = await gate.callers
      .keysFor(ann)
      .create({ name: 'x', tenant: null, scopes: ['approve'], expiresAt: null });
    expect(await gate.callers.holderOf(key.id)).toBe('oidc:ann');
    expect((await gate.callers.verify(secret)).id).toBe(key.id);
    expect((await gate.callers.keysFor(ann).revoke(key.id)).revokedAt).toBe(Date.now());
  });

  it.each([
    ['no scope', { scopes: [] }],
    ['an unknown scope', { scopes: ['read', 'write'] }],
    ['no name', { name: ' ' }],
    ['a name with a line break', { name: 'a\nb' }],
    ['a hidden name', { name: 'a\u202eb' }],
    ['a long name', { name: 'a'.repeat(101) }],
    ['an end in the past', { expiresAt: 1_800_000_000_000 }],
    ['an end that is no number', { expiresAt: Number.NaN }],
  ])('%s is refused', async (_name, change) => {
    const { callers } = openGate();
    const wish = { name: 'x', tenant: null, scopes: ['read'], expiresAt: null, ...change };
    await expect(callers.keysFor(OPERATOR).create(wish as never)).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('every change is told, in the chain of the tenant', async () => {
    const gate = openGate();
    const { id } = await makeKey(gate, 'acme', ['read']);
    const keys = gate.callers.keysFor(keeperOf('acme'));
    await keys.rotate(id, 5);
    await keys.revoke(id);
    await keys.revoke(id);
    const told = await eventsOf(gate);
    expect(told.map(({ type, subject, actor }) => [type, subject, actor.id])).toEqual([
      ['tenant.created', 'acme', 'uid:0'],
      ['key.created', id, 'uid:0'],
      ['key.rotated', id, 'acme-key'],
      ['key.revoked', id, 'acme-key'],
    ]);
    expect(new Set(told.map(({ chain }) => chain)).size).toBe(1);
    expect(told[0]?.chain).toContain('acme');
    expect(told[1]?.data).toMatchObject({ purpose: 'api', scopes: ['read'], name: 'a key', expires: null });
  });

  it('pages have an end', async () => {
    const gate = openGate();
    const made = [];
    for (let i = 0; i < 5; i++) made.push((await makeKey(gate, 'acme')).id);
    const keys = gate.callers.keysFor(keeperOf('acme'));
    const seen: string[] = [];
    for (let after: string | null = null, pages = 0; pages < 9; pages++) {
      const page = await keys.list({ tenant: null, limit: 2, after });
      seen.push(...page.items.map(({ id }) => id));
      after = page.next;
      if (after === null) break;
    }
    expect(seen).toEqual(made.sort());
  });
});

describe('tenants', () => {
  const tenants = (scopes?: readonly 'admin'[] | readonly 'read'[]) =>
    openGate().callers.tenantsFor(keeperOf('acme', scopes));

  it('are for admins', async () => {
    const plain = tenants(['read']);
    for (const attempt of [
      () => plain.create('new', {}),
      () => plain.list(FIRST_PAGE),
      () => plain.update('acme', { quotas: null, disabled: true }),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('have the quotas that they were given, and the usual ones for the rest', async () => {
    const admin = tenants(['admin']);
    expect((await admin.create('acme', { running: 7 })).quotas).toMatchObject({ running: 7, queued: 10 });
    await expect(admin.create('acme', {})).rejects.toMatchObject({ code: 'EXISTS' });
    const changed = await admin.update('acme', { quotas: { queued: 0 }, disabled: null });
    expect([changed.quotas.queued, changed.quotas.running, changed.disabledAt]).toEqual([0, 7, null]);
    await expect(admin.update('nobody', { quotas: null, disabled: true })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await admin.list(FIRST_PAGE)).items.map(({ name }) => name)).toEqual(['acme']);
  });

  it('one is stopped though its quotas are changed in the same moment', async () => {
    const admin = tenants(['admin']);
    await admin.create('acme', {});
    await Promise.all([
      admin.update('acme', { quotas: null, disabled: true }),
      admin.update('acme', { quotas: { running: 1 }, disabled: null }),
      admin.update('acme', { quotas: { queued: 2 }, disabled: null }),
    ]);
    const [found] = (await admin.list(FIRST_PAGE)).items;
    expect([found?.disabledAt === null, found?.quotas.running, found?.quotas.queued]).toEqual([false, 1, 2]);
  });

  it.each(['', 'A', '-a', 'a-', 'a b', '../x', 'a'.repeat(64), '__proto__'])('none is called %.12j', async name => {
    await expect(tenants(['admin']).create(name, {})).rejects.toMatchObject({ code: 'USAGE' });
  });

  it.each([{ running: -1 }, { running: 1.5 }, { queued: Number.NaN }, { more: 1 }])('no quotas %j', async quotas => {
    await expect(tenants(['admin']).create('x', quotas)).rejects.toMatchObject({ code: 'USAGE' });
  });
});

test('the first key opens everything, and is made once', async () => {
  const gate = openGate();
  const text = await gate.callers.makeFirstKey({ id: 'uid:0', channel: 'local' });
  expect(await gate.callers.verify(text ?? '')).toMatchObject({ tenant: 'default', scopes: [...SCOPES] });
  expect(await gate.callers.makeFirstKey({ id: 'uid:0', channel: 'local' })).toBeNull();
  expect(await gate.callers.quotas('default')).toMatchObject({ running: 2 });
});

test('the operator makes a key before a server has run', async () => {
  const { callers } = openGate();
  const made = await callers.keysFor(OPERATOR).create({ name: 'x', tenant: null, scopes: ['run'], expiresAt: null });
  expect(await callers.verify(made.secret)).toMatchObject({ tenant: 'default', scopes: ['run'] });
});
