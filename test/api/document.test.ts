import { Validator } from '@seriousme/openapi-schema-validator';
import type { InjectOptions } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ApiDocument } from '../../src/api/document.ts';
import type { ErrorCode } from '../../src/base/index.ts';
import { type Documented, type Fixture, furnish, GOOD, link, operationsOf, whole } from './operations.ts';
import { as } from './support.ts';
import { archiveOf, type Served, serveWorld } from './world.ts';

let served: Served;
let document: ApiDocument;
let its: Fixture;
beforeAll(async () => {
  served = await serveWorld({ maxUploadBytes: 1000, maxRequestBytes: 1000, syncWaitMs: 50 });
  document = (await served.server.inject('/openapi.json')).json();
});
afterAll(() => served.server.close());
beforeEach(async () => {
  served.world.fault = null;
  its = await furnish(served.server, served.world, 'acme');
});

type Case = (its: Fixture) => InjectOptions & { fault?: ErrorCode };
const long = 'a'.repeat(2000);
const nobody = 'nothing-like-it';
const text = { payload: 'x', headers: { 'content-type': 'text/plain' } };
const wrong: Case = () => ({ url: '?nonsense=1' });
const at =
  (url: (its: Fixture) => string): Case =>
  fixture => ({ url: url(fixture) });
const faulty =
  (fault: ErrorCode): Case =>
  () => ({ fault });

/** How to come by each answer that is not the first; what is named here replaces a part of the good request. */
const CASES: Record<string, Record<number, Case>> = {
  createExecution: {
    202: () => ({ payload: { skill: 'wait-a' } }),
    404: () => ({ payload: { skill: nobody } }),
    413: () => ({ payload: { skill: long } }),
    422: () => ({ payload: { skill: 'hello', session_id: 'x' } }),
    507: faulty('QUOTA_EXCEEDED'),
  },
  planExecution: {
    404: () => ({ payload: { skill: nobody } }),
    413: () => ({ payload: { skill: long } }),
    422: () => ({ payload: { skill: 'hello', input_files: ['x'] } }),
  },
  getExecution: { 404: at(() => `/v1/executions/${nobody}`) },
  cancelExecution: { 404: at(() => `/v1/executions/${nobody}/cancel`) },
  getExecutionLogs: { 404: at(() => `/v1/executions/${nobody}/logs`) },
  followExecution: {
    204: () => ({ headers: { 'last-event-id': '3-end' } }),
    404: at(() => `/v1/executions/${nobody}/events`),
  },
  listArtifacts: { 404: at(() => `/v1/executions/${nobody}/artifacts`) },
  downloadArtifacts: {
    302: at(({ ended }) => `/v1/executions/${ended}/artifacts.tar.gz?redirect=true`),
    404: at(({ running }) => `/v1/executions/${running}/artifacts.tar.gz`),
  },
  downloadArtifact: {
    302: at(({ ended }) => `/v1/executions/${ended}/artifacts/out/hello.html?redirect=true`),
    404: at(({ ended }) => `/v1/executions/${ended}/artifacts/out/other`),
  },
  signArtifactUrl: { 404: at(({ ended }) => `/v1/executions/${ended}/artifact-url?path=other`) },
  publishSkill: {
    201: fixture => ({ payload: archiveOf(`new-${fixture.ended}`, '1.0.0') }),
    409: () => ({ payload: archiveOf('hello', '1.0.0', 'other bytes') }),
    413: () => ({ payload: archiveOf('big', '1.0.0', long) }),
    415: () => ({ payload: '{}', headers: { 'content-type': 'application/json' } }),
    422: () => ({ payload: 'no skill' }),
    507: faulty('QUOTA_EXCEEDED'),
  },
  listVersions: { 404: at(() => `/v1/skills/${nobody}/versions`) },
  resolveSkill: { 404: at(() => `/v1/skills/${nobody}/latest/resolve`) },
  getSkill: { 404: at(() => '/v1/skills/hello/9.9.9') },
  deleteSkill: { 404: at(() => '/v1/skills/hello/9.9.9') },
  yankSkill: { 404: at(() => '/v1/skills/hello/9.9.9/yank') },
  unyankSkill: { 404: at(() => '/v1/skills/hello/9.9.9/unyank') },
  tagSkill: {
    404: () => ({ payload: { version: '9.9.9' } }),
  },
  untagSkill: { 404: at(() => '/v1/skills/hello/tags/none') },
  listTools: { 404: at(() => '/v1/skills/hello/9.9.9/tools') },
  listScripts: { 404: at(() => '/v1/skills/hello/9.9.9/scripts') },
  activateSkill: { 404: at(() => '/v1/skills/hello/9.9.9/activate') },
  diffSkill: { 404: at(() => '/v1/skills/hello/diff?from=1.0.0&to=9.9.9') },
  downloadSkill: { 404: at(() => '/v1/skills/hello/9.9.9/download') },
  listSkillFiles: { 404: at(() => '/v1/skills/hello/latest/files?path=other') },
  downloadSkillFile: { 404: at(() => '/v1/skills/hello/latest/files/other') },
  getQuestion: { 404: at(() => `/v1/approvals/${nobody}`), 409: at(({ ended }) => `/v1/approvals/${ended}`) },
  answerQuestion: { 404: at(() => `/v1/approvals/${nobody}`), 409: at(({ ended }) => `/v1/approvals/${ended}`) },
  revokeAnswer: { 404: at(() => `/v1/answers/${nobody}`) },
  getCatalog: { 422: at(() => '/v1/catalog?q=nonsense') },
  explainPolicy: { 404: () => ({ payload: { skill: nobody } }), 422: faulty('INVALID_CALL') },
  setSecret: { 422: () => ({ payload: { value: 'two\nlines' } }) },
  removeSecret: { 404: at(() => '/v1/secrets/OTHER') },
  createKey: { 404: () => ({ payload: { name: 'k', scopes: [], tenant: nobody } }) },
  listKeys: { 404: at(() => `/v1/keys?tenant=${nobody}`) },
  revokeKey: { 404: at(() => `/v1/keys/${nobody}`) },
  rotateKey: { 404: at(() => `/v1/keys/${nobody}/rotate`), 409: at(({ revoked }) => `/v1/keys/${revoked}/rotate`) },
  createTenant: { 409: fixture => ({ payload: { name: fixture.tenant } }) },
  updateTenant: { 404: at(() => `/v1/tenants/${nobody}`) },
  fetchLink: {
    403: at(() => link('b', 'altered')),
    404: at(() => link('c')),
    429: faulty('RATE_LIMITED'),
    503: faulty('BACKEND_UNAVAILABLE'),
  },
};

/** What every route has in common. */
const COMMON: Record<number, Case> = {
  400: wrong,
  401: () => ({ headers: { authorization: 'Bearer wrong' } }),
  403: () => ({ headers: { 'x-tenant-id': 'other' } }),
  415: () => text,
  429: faulty('RATE_LIMITED'),
  503: faulty('BACKEND_UNAVAILABLE'),
};

async function reach({ id, method }: Documented, change: ReturnType<Case>) {
  const good = GOOD[id];
  if (good === undefined) throw new Error(`no request of ${id} is known`);
  const { fault = null, url, ...rest } = change;
  const base = good(its);
  served.world.fault = fault === null ? null : { code: fault };
  const target = typeof url !== 'string' ? base.url : url.startsWith('?') ? `${base.url.split('?')[0]}${url}` : url;
  const headers = { ...as('all'), ...base.headers, ...rest.headers };
  return served.server.inject({ ...base, ...rest, url: target, headers, method: method as 'GET' });
}

/** Who has these needs no scope; what may be done with keys, their service says. */
const OPEN = ['whoAmI', 'createKey', 'revokeKey', 'rotateKey', 'fetchLink'];

describe('the document', () => {
  it('is OpenAPI 3.1, and valid', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  });

  it('names every route under /v1 and the index, and no other', () => {
    const documented = operationsOf(document).map(({ method, path }) => `${method} ${path}`);
    const there = served.routes.map(
      ({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}').replace('*', '{path}')}`,
    );
    expect(there.filter(route => / \/(v1|\.well-known)\//.test(route)).sort()).toEqual(documented.sort());
    const ids = operationsOf(document).map(({ id }) => id);
    expect(Object.keys(GOOD).sort()).toEqual(ids.sort());
  });

  it('every status of every route is real, and its answer is as the schema says, field by field', async () => {
    const unreached: string[] = [];
    for (const each of operationsOf(document)) {
      const [first] = Object.keys(each.operation.responses ?? {});
      for (const [status, said] of Object.entries(each.operation.responses ?? {})) {
        served.world.fault = null;
        its = await furnish(served.server, served.world, 'acme');
        const change = CASES[each.id]?.[Number(status)] ?? COMMON[Number(status)];
        const answer = status === first ? await reach(each, {}) : change && (await reach(each, change(its)));
        if (answer === undefined || answer.statusCode !== Number(status)) {
          unreached.push(`${each.id} ${status}: ${answer?.statusCode ?? 'no case'} ${answer?.body ?? ''}`);
          continue;
        }
        const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
        const content = said.content?.[type];
        if (said.content === undefined) expect([each.id, status, answer.body]).toEqual([each.id, status, '']);
        else
          expect([each.id, status, content === undefined ? type : 'documented']).toEqual([
            each.id,
            status,
            'documented',
          ]);
        if (type !== 'application/json' || content?.schema === undefined) continue;
        const checker = Compile(whole(document, content.schema) as TSchema);
        const problems = checker.Check(answer.json()) ? [] : checker.Errors(answer.json());
        expect({ operation: each.id, status, problems }).toEqual({ operation: each.id, status, problems: [] });
      }
    }
    expect(unreached).toEqual([]);
  }, 60_000);

  it('no key without the scope of a route gets past it', async () => {
    for (const each of operationsOf(document).filter(({ id }) => !OPEN.includes(id))) {
      const before = served.world.calls.length;
      const answer = await reach(each, { headers: as('none') });
      expect([each.id, answer.statusCode, answer.json().error]).toEqual([each.id, 403, 'FORBIDDEN']);
      expect([each.id, served.world.calls.length]).toEqual([each.id, before]);
    }
  });

  it('the page shows all of it, starts nothing and loads nothing', async () => {
    const page = await served.server.inject('/docs');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; frame-ancestors 'none'$/);
    expect(page.body).not.toMatch(/<script|<link|<img|src=|url\(|@import|\son[a-z]+=/i);
    for (const { id } of operationsOf(document)) expect(page.body).toContain(`id="${id}"`);
  });
});
