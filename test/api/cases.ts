import type { InjectOptions } from 'fastify';
import type { ErrorCode } from '../../src/base/index.ts';
import type { Scope } from '../../src/service/index.ts';
import { ASKS, type Fixture } from './operations.ts';

/** What replaces a part of the good request. `fault`: what the service must throw for it. */
export type Change = Omit<InjectOptions, 'url'> & { url?: string; fault?: ErrorCode; scopes?: readonly Scope[] };
type Case = (its: Fixture) => Change;

const long = 'a'.repeat(30_000);
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
export const CASES: Record<string, Record<number, Case>> = {
  createExecution: {
    202: () => ({ payload: ASKS }),
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
    201: fixture => ({ payload: fixture.zip(`new-${fixture.tenant}`, '1.0.0') }),
    409: fixture => ({ payload: fixture.zip('hello', '1.0.0', 'other bytes') }),
    413: () => ({ payload: Buffer.alloc(30_000) }),
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
  explainPolicy: { 404: () => ({ payload: { skill: nobody } }) },
  setSecret: { 422: at(() => '/v1/secrets/no%20name') },
  removeSecret: { 404: at(() => '/v1/secrets/custom%2Fother') },
  createKey: { 404: () => ({ payload: { name: 'k', scopes: ['read'], tenant: nobody } }) },
  listKeys: { 404: () => ({ url: `/v1/keys?tenant=${nobody}`, scopes: ['read'] }) },
  revokeKey: { 404: at(() => `/v1/keys/${nobody}`) },
  rotateKey: { 404: at(() => `/v1/keys/${nobody}/rotate`), 409: at(({ revoked }) => `/v1/keys/${revoked}/rotate`) },
  createTenant: { 409: fixture => ({ payload: { name: fixture.tenant } }) },
  updateTenant: { 404: at(() => `/v1/tenants/${nobody}`) },
  fetchLink: {
    403: at(({ links }) => links?.altered ?? ''),
    404: at(({ links }) => links?.gone ?? ''),
    429: faulty('RATE_LIMITED'),
    503: faulty('BACKEND_UNAVAILABLE'),
  },
};

/** What every route has in common. */
export const COMMON: Record<number, Case> = {
  400: wrong,
  401: () => ({ headers: { authorization: 'Bearer wrong' } }),
  403: () => ({ headers: { 'x-tenant-id': 'other' } }),
  415: () => text,
  429: faulty('RATE_LIMITED'),
  503: faulty('BACKEND_UNAVAILABLE'),
};
