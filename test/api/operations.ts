import type { InjectOptions } from 'fastify';
import type { ApiDocument, Operation } from '../../src/api/document.ts';
import type { ApiServer } from '../../src/api/index.ts';
import type { FakeWorld } from '../support/fake-service.ts';
import { as } from './support.ts';
import { archiveOf, publish, start } from './world.ts';

export type Fixture = {
  /** A run that has ended, one that waits for a person, one that goes on; all asked for by `run`. */
  ended: string;
  waiting: string;
  running: string;
  answer: string;
  key: string;
  revoked: string;
  tenant: string;
};

let count = 0;

/** One of everything, in one tenant. */
export async function furnish(server: ApiServer, world: FakeWorld, tenant: string): Promise<Fixture> {
  count++;
  const all = `all@${tenant}`;
  const run = `run@${tenant}`;
  for (const name of ['hello', 'wait-a', 'slow-a']) {
    const known = await server.inject({ url: `/v1/skills/${name}/1.0.0`, headers: as(all) });
    if (known.statusCode === 404) await publish(server, name, '1.0.0', all);
    else await server.inject({ method: 'POST', url: `/v1/skills/${name}/1.0.0/unyank`, headers: as(all) });
  }
  const service = world.serviceFor({ tenant, id: 'somebody', scopes: [], expiresAt: null });
  await service.skills.tag('hello', 'stable', '1.0.0');
  await service.secrets.set('TOKEN', 'x', []);
  const asked = await start(server, 'wait-a', run);
  await service.approvals.answer(asked, 'once');
  const [answer] = (await service.approvals.answers({ limit: 1000, after: null })).items.slice(-1);
  const { key } = await service.keys.create({ name: 'k', tenant: null, scopes: ['read'], expiresAt: null });
  const { key: old } = await service.keys.create({ name: 'old', tenant: null, scopes: ['read'], expiresAt: null });
  await service.keys.revoke(old.id);
  const other = await service.tenants.create(`tenant-${tenant}-${count}`, {});
  return {
    ended: await start(server, 'hello', run),
    waiting: await start(server, 'wait-a', run),
    running: await start(server, 'slow-a', run),
    answer: answer?.id ?? '',
    key: key.id,
    revoked: old.id,
    tenant: other.name,
  };
}

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
  publishSkill: () => ({ url: '/v1/skills', payload: archiveOf('hello', '1.0.0'), headers: zip }),
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
  setSecret: () => ({ url: '/v1/secrets/TOKEN', ...body({ value: 'v' }) }),
  removeSecret: () => ({ url: '/v1/secrets/TOKEN' }),
  createKey: () => ({ url: '/v1/keys', ...body({ name: 'k', scopes: ['read'] }) }),
  listKeys: () => ({ url: '/v1/keys' }),
  revokeKey: its => ({ url: `/v1/keys/${its.key}` }),
  rotateKey: its => ({ url: `/v1/keys/${its.key}/rotate`, ...body({ overlap_seconds: 60 }) }),
  createTenant: its => ({ url: '/v1/tenants', ...body({ name: `${its.tenant}-new` }) }),
  fetchLink: () => ({ url: link('b') }),
  getSkillIndex: () => ({ url: '/.well-known/agent-skills/index.json' }),
  listTenants: () => ({ url: '/v1/tenants' }),
  updateTenant: its => ({ url: `/v1/tenants/${its.tenant}`, ...body({ disabled: true }) }),
};

/** A link as it is signed in these tests; see world.ts. */
export function link(letter: string, signature = 'good'): string {
  const query = new URLSearchParams({ filename: 'a.html', type: 'text/html', tenant: 'acme', expires: '9', signature });
  return `/v1/blobs/${letter.repeat(64)}?${query.toString()}`;
}

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
