import { afterEach, expect, it } from 'vitest';
import { type ApiServer, createServer } from '../../src/api/index.ts';
import type { Service } from '../../src/service/index.ts';
import { type Gate, keeperOf, makeKey, OPERATOR, openGate } from '../callers/support.ts';
import { tidy } from '../support/temp.ts';
import { as } from './support.ts';

tidy();

let server: ApiServer;
afterEach(() => server?.close());

/** A server with real keys in a real store. A service knows nothing but its caller and that caller's keys. */
async function start(gate: Gate): Promise<void> {
  const { callers } = gate;
  server = await createServer({
    authenticate: token => callers.verify(token),
    recall: token => callers.recall(token),
    serviceFor: caller => {
      const { tenant, id, scopes, expiresAt } = caller;
      const keys = callers.keysFor({ tenant, scopes, expiresAt, actor: { id, channel: 'rest' } });
      return { keys, whoAmI: async () => ({ tenant, id, scopes, expiresAt }) } as unknown as Service;
    },
    routes: [
      api => {
        api.get('/v1/me', { config: { scope: 'caller' } }, request => request.service.whoAmI());
        api.get('/v1/keys', { config: { scope: 'read' } }, request =>
          request.service.keys.list({ tenant: null, limit: 10, after: null }),
        );
        api.delete('/v1/keys/:id', { config: { scope: 'read' } }, request =>
          request.service.keys.revoke((request.params as { id: string }).id),
        );
      },
    ],
  });
}

const ask = (url: string, key: string, method: 'GET' | 'DELETE' = 'GET') =>
  server.inject({ method, url, headers: as(key) });

it("two tenants' keys: each sees its own, and the other is not there", async () => {
  const gate = openGate();
  const [acme, beta] = [await makeKey(gate, 'acme'), await makeKey(gate, 'beta')];
  await start(gate);
  expect((await ask('/v1/me', acme.text)).json()).toMatchObject({ tenant: 'acme', id: acme.id });
  expect((await ask('/v1/me', beta.text)).json()).toMatchObject({ tenant: 'beta', id: beta.id });
  const listed = (await ask('/v1/keys', beta.text)).json() as { items: { id: string }[] };
  expect(listed.items.map(({ id }) => id)).toEqual([beta.id]);
  const crossed = await ask(`/v1/keys/${acme.id}`, beta.text, 'DELETE');
  const missing = await ask('/v1/keys/00000000000000000000000000', beta.text, 'DELETE');
  // Word for word the same: nobody learns what another tenant has.
  const { request_id: _one, ...first } = crossed.json() as Record<string, unknown>;
  const { request_id: _other, ...second } = missing.json() as Record<string, unknown>;
  expect([crossed.statusCode, first]).toEqual([missing.statusCode, second]);
  expect(crossed.statusCode).toBe(404);
  expect((await ask('/v1/me', acme.text)).statusCode).toBe(200);
});

it('a key that is revoked is refused with the next request', async () => {
  const gate = openGate();
  const { id, text } = await makeKey(gate, 'acme');
  await start(gate);
  expect((await ask('/v1/me', text)).statusCode).toBe(200);
  await gate.callers.keysFor(keeperOf('acme')).revoke(id);
  const refused = await ask('/v1/me', text);
  expect([refused.statusCode, refused.json().error]).toEqual([401, 'UNAUTHENTICATED']);
});

it('a tenant that is disabled is refused, and its quota of requests holds', async () => {
  const gate = openGate();
  const { text } = await makeKey(gate, 'acme');
  await start(gate);
  const tenants = gate.callers.tenantsFor(OPERATOR);
  await tenants.update('acme', { quotas: { requestsPerMinute: 2 }, disabled: null });
  const statuses = [];
  for (let i = 0; i < 3; i++) statuses.push((await ask('/v1/me', text)).statusCode);
  expect(statuses).toEqual([200, 200, 429]);
  await tenants.update('acme', { quotas: null, disabled: true });
  expect((await ask('/v1/me', text)).statusCode).toBe(403);
});

it('a store that does not answer lets nobody in, and says nothing of itself', async () => {
  const gate = openGate();
  const { text } = await makeKey(gate, 'acme');
  const keys = { ...gate.store.keys, get: () => Promise.reject(new Error('connect ECONNREFUSED 10.1.2.3:5432')) };
  const broken = openGate({ keys, tenants: gate.store.tenants });
  await start(broken);
  const answer = await ask('/v1/me', text);
  expect([answer.statusCode, answer.json().error]).toEqual([500, 'INTERNAL']);
  expect(answer.body).not.toContain('10.1.2.3');
});
