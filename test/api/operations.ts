import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import type { ApiDocument, Operation } from '../../src/api/document.ts';
import type { ErrorCode } from '../../src/base/index.ts';
import type { Scope } from '../../src/service/index.ts';

/** A server, and one of everything in it; what is behind it the tests of its routes cannot tell. */
export type Stage = {
  inject(options: InjectOptions & { method: string; url: string }): Promise<LightMyRequestResponse>;
  /** The header that says who is calling. */
  as(tenant: Tenant, scopes: readonly Scope[], who?: 'first' | 'second'): Promise<{ authorization: string }>;
  furnish(tenant: Tenant): Promise<Fixture>;
  /** What is behind the server throws this from now on; null where nothing can make it. */
  fail: ((code: ErrorCode | null) => void) | null;
  close(): Promise<void>;
};
export type Tenant = 'acme' | 'beta';

export type Fixture = {
  /** A run that has ended, one that waits for a person, one that goes on; all asked for by `second`. */
  ended: string;
  waiting: string;
  running: string;
  answer: string;
  key: string;
  revoked: string;
  /** Another tenant, of its own name each time. */
  tenant: string;
  /** null where blobs are kept elsewhere. */
  links: { good: string; altered: string; gone: string } | null;
  zip(name: string, version: string, more?: string): Buffer;
};

/** What a server must take on a stage, so that its limits are within reach. */
export const STAGE_LIMITS = { maxUploadBytes: 20_000, maxRequestBytes: 4_000, syncWaitMs: 20_000, heartbeatMs: 1_000 };
/** The request that makes a run wait for a person. */
export const ASKS = { skill: 'wait-a', tool: 'say', arguments: { word: 'hello' } };

const zip = { 'content-type': 'application/zip' };
const body = (payload: object): { payload: object } => ({ payload });

/** A request of each operation that succeeds; paths are filled in, the key is left out. */
export const GOOD: Record<string, (its: Fixture) => Omit<InjectOptions, 'url'> & { url: string }> = {
  createExecution: () => ({ url: '/v1/executions', ...body({ skill: 'hello', input: { a: 1 } }) }),
  planExecution: () => ({ url: '/v1/executions/plan', ...body({ skill: 'hello' }) }),
  listExecutions: () => ({ url: '/v1/executions' }),
  getExecution: its => ({ url: `/v1/executions/${its.ended}` }),
  cancelExecution: its => ({ url: `/v1/executions/${its.running}/cancel` }),
  getExecutionLogs: its => ({ url: `/v1/executions/${its.ended}/logs` }),
  followExecution: its => ({ url: `/v1/executions/${its.ended}/events` }),
  listArtifacts: its => ({ url: `/v1/executions/${its.ended}/artifacts` }),
  downloadArtifacts: its => ({ url: `/v1/executions/${its.ended}/artifacts.tar.gz` }),
  downloadArtifact: its => ({ url: `/v1/executions/${its.ended}/artifacts/out/hello.html` }),
  signArtifactUrl: its => ({ url: `/v1/executions/${its.ended}/artifact-url` }),
  publishSkill: its => ({ url: '/v1/skills', payload: its.zip('hello', '1.0.0'), headers: zip }),
  listSkills: () => ({ url: '/v1/skills' }),
  listVersions: () => ({ url: '/v1/skills/hello/versions' }),
  resolveSkill: () => ({ url: '/v1/skills/hello/latest/resolve' }),
  getSkill: () => ({ url: '/v1/skills/hello/latest' }),
  deleteSkill: () => ({ url: '/v1/skills/hello/1.0.0' }),
  yankSkill: () => ({ url: '/v1/skills/hello/1.0.0/yank', ...body({ reason: 'wrong' }) }),
  unyankSkill: () => ({ url: '/v1/skills/hello/1.0.0/unyank' }),
  tagSkill: () => ({ url: '/v1/skills/hello/tags/new', ...body({ version: '1.0.0' }) }),
  untagSkill: () => ({ url: '/v1/skills/hello/tags/stable' }),
  listTools: () => ({ url: '/v1/skills/hello/latest/tools' }),
  listScripts: () => ({ url: '/v1/skills/hello/latest/scripts' }),
  activateSkill: () => ({ url: '/v1/skills/hello/latest/activate' }),
  diffSkill: () => ({ url: '/v1/skills/hello/diff?from=1.0.0&to=1.0.0' }),
  downloadSkill: () => ({ url: '/v1/skills/hello/latest/download' }),
  listSkillFiles: () => ({ url: '/v1/skills/hello/latest/files?path=SKILL.md' }),
  downloadSkillFile: () => ({ url: '/v1/skills/hello/latest/files/SKILL.md' }),
  listApprovals: () => ({ url: '/v1/approvals' }),
  getQuestion: its => ({ url: `/v1/approvals/${its.waiting}` }),
  answerQuestion: its => ({ url: `/v1/approvals/${its.waiting}`, ...body({ answer: 'once' }) }),
  listAnswers: () => ({ url: '/v1/answers' }),
  revokeAnswer: its => ({ url: `/v1/answers/${its.answer}` }),
  getCatalog: () => ({ url: '/v1/catalog' }),
  explainPolicy: () => ({ url: '/v1/policy/explain', ...body({ skill: 'hello' }) }),
  listAudit: () => ({ url: '/v1/audit' }),
  verifyAudit: () => ({ url: '/v1/audit/verify' }),
  whoAmI: () => ({ url: '/v1/whoami' }),
  listProviders: () => ({ url: '/v1/providers' }),
  listSecrets: () => ({ url: '/v1/secrets' }),
  setSecret: () => ({ url: '/v1/secrets/custom%2Ftoken', ...body({ value: 'a value that is long enough' }) }),
  removeSecret: () => ({ url: '/v1/secrets/custom%2Ftoken' }),
  createKey: () => ({ url: '/v1/keys', ...body({ name: 'k', scopes: ['read'] }) }),
  listKeys: () => ({ url: '/v1/keys' }),
  revokeKey: its => ({ url: `/v1/keys/${its.key}` }),
  rotateKey: its => ({ url: `/v1/keys/${its.key}/rotate`, ...body({ overlap_seconds: 60 }) }),
  createTenant: its => ({ url: '/v1/tenants', ...body({ name: `${its.tenant}-new` }) }),
  fetchLink: its => ({ url: its.links?.good ?? '' }),
  getSkillIndex: () => ({ url: '/.well-known/agent-skills/index.json' }),
  listTenants: () => ({ url: '/v1/tenants' }),
  updateTenant: its => ({ url: `/v1/tenants/${its.tenant}`, ...body({ disabled: true }) }),
};

export type Documented = { id: string; method: string; path: string; operation: Operation };

export function operationsOf(document: ApiDocument): Documented[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id: operation.operationId ?? '',
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}

/** Names of schemas replaced by what they stand for, so that one schema says all. */
export function whole(document: ApiDocument, schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(each => whole(document, each));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, ...rest } = schema as Record<string, unknown>;
  if (typeof $ref === 'string') return whole(document, document.components.schemas[$ref.split('/').at(-1) ?? '']);
  return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, whole(document, each)]));
}
