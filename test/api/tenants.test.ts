import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiDocument } from '../../src/api/document.ts';
import { type Fixture, furnish, GOOD, operationsOf } from './operations.ts';
import { as } from './support.ts';
import { publish, type Served, serveWorld } from './world.ts';

let served: Served;
let document: ApiDocument;
let hers: Fixture;
beforeAll(async () => {
  served = await serveWorld();
  document = (await served.server.inject('/openapi.json')).json();
  hers = await furnish(served.server, served.world, 'alpha');
  await publish(served.server, 'only-alpha', '1.0.0', 'all@alpha');
});
afterAll(() => served.server.close());

/** What belongs to everybody, or to nobody: admins are over all tenants. */
const SHARED = ['listProviders', 'createTenant', 'listTenants', 'updateTenant', 'whoAmI', 'fetchLink'];
const state = () =>
  JSON.stringify([...served.world.tenant('alpha').skills, ...served.world.tenant('alpha').runs], skipBytes);
const skipBytes = (_name: string, value: unknown) => (value instanceof Map ? [...value.keys()] : value);

describe('two tenants', () => {
  it('what names a thing of the one finds nothing with a key of the other, on every route', async () => {
    const ids = [hers.ended, hers.waiting, hers.running, hers.answer, hers.key];
    const seen: string[] = [];
    for (const { id, method } of operationsOf(document)) {
      const good = GOOD[id]?.(hers);
      if (good === undefined || SHARED.includes(id)) continue;
      // Names of skills are the same everywhere, so one is used that only she has.
      const url = good.url.replaceAll('/skills/hello', '/skills/only-alpha');
      const payload = good.payload instanceof Buffer ? good.payload : renamed(good.payload);
      const named = ids.some(each => url.includes(each)) || url.includes('only-alpha') || payload !== good.payload;
      if (!named) continue;
      const before = state();
      const headers = { ...good.headers, ...as('all@beta') };
      const answer = await served.server.inject({
        ...good,
        ...(payload === undefined ? {} : { payload }),
        url,
        method: method as 'GET',
        headers,
      });
      expect([id, answer.statusCode, answer.json().error]).toEqual([id, 404, 'NOT_FOUND']);
      expect([id, state() === before]).toEqual([id, true]);
      seen.push(id);
    }
    // Fails when a route is added that this test passes over.
    const lists = [
      'listExecutions',
      'listSkills',
      'listApprovals',
      'listAnswers',
      'listSecrets',
      'listKeys',
      'listAudit',
    ];
    const own = [
      'publishSkill',
      'getCatalog',
      'getSkillIndex',
      'verifyAudit',
      'setSecret',
      'removeSecret',
      'createKey',
    ];
    const all = operationsOf(document).map(({ id }) => id);
    expect([...seen, ...lists, ...own, ...SHARED].sort()).toEqual(all.sort());
  });

  it('lists of the one hold nothing of the other', async () => {
    for (const path of [
      'executions',
      'skills',
      'approvals',
      'answers',
      'secrets',
      'keys',
      'audit',
      'catalog',
      '../.well-known/agent-skills/index.json',
    ]) {
      const answer = await served.server.inject({
        url: path.startsWith('..') ? path.slice(2) : `/v1/${path}`,
        headers: as('all@beta'),
      });
      expect([path, answer.statusCode]).toEqual([path, 200]);
      expect([path, /hello|alpha|TOKEN|wait-a/.test(answer.body)]).toEqual([path, false]);
      const mine = await served.server.inject({
        url: path.startsWith('..') ? path.slice(2) : `/v1/${path}`,
        headers: as('all@alpha'),
      });
      expect([path, mine.body.length > answer.body.length]).toEqual([path, true]);
    }
  });

  it('a secret of the one is not removed by the other', async () => {
    const answer = await served.server.inject({ method: 'DELETE', url: '/v1/secrets/TOKEN', headers: as('all@beta') });
    expect(answer.statusCode).toBe(404);
    expect(served.world.tenant('alpha').secrets.has('TOKEN')).toBe(true);
  });
});

function renamed(payload: unknown): object | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  return 'skill' in payload ? { ...payload, skill: 'only-alpha' } : payload;
}
