import { Type } from 'typebox';
import {
  exactly,
  fromTimeOrNull,
  KeyFilter,
  KeyRequest,
  NewKeyAnswer,
  NO_QUERY,
  PagingQuery,
  ProviderList,
  RotateRequest,
  SecretList,
  SecretRequest,
  TenantChange,
  TenantRequest,
  toKey,
  toQuotas,
  toSecret,
  toTenant,
  toWhoAmI,
  WhoAmIAnswer,
} from '../../wire/index.ts';
import { component, failures, NOTHING, pageOfComponent } from '../components.ts';
import type { ApiServer } from '../server.ts';
import { ID_PARAMS } from './executions.ts';

const PAGE = 100;
const NAME = exactly({ name: Type.String({ minLength: 1, maxLength: 256 }) });

/** Who is calling, and what was put in their hands. */
export function callerRoutes(server: ApiServer): void {
  server.get(
    '/v1/whoami',
    {
      config: { scope: 'caller' },
      schema: {
        operationId: 'whoAmI',
        tags: ['keys'],
        summary: 'Whose key this is and what it may do',
        querystring: NO_QUERY,
        response: { 200: WhoAmIAnswer, ...failures() },
      },
    },
    async ({ service }) => toWhoAmI(await service.whoAmI()),
  );

  server.get(
    '/v1/providers',
    {
      config: { scope: ['read', 'secrets'] },
      schema: {
        operationId: 'listProviders',
        tags: ['secrets'],
        summary: 'Providers and the capabilities that skills can ask for',
        querystring: NO_QUERY,
        response: { 200: ProviderList, ...failures() },
      },
    },
    async ({ service }) => ({ providers: await service.providers.list() }),
  );

  server.get(
    '/v1/secrets',
    {
      config: { scope: 'secrets' },
      schema: {
        operationId: 'listSecrets',
        tags: ['secrets'],
        summary: 'Stored secrets, never their values',
        querystring: NO_QUERY,
        response: { 200: SecretList, ...failures() },
      },
    },
    async ({ service }) => ({ secrets: (await service.secrets.list()).map(toSecret) }),
  );

  server.put(
    '/v1/secrets/:name',
    {
      config: { scope: 'secrets' },
      schema: {
        operationId: 'setSecret',
        tags: ['secrets'],
        summary: 'Store a secret, or give one a new value',
        params: NAME,
        body: SecretRequest,
        querystring: NO_QUERY,
        response: { 200: component('Secret'), ...failures(415, 422) },
      },
    },
    async ({ service, params, body }) =>
      toSecret(await service.secrets.set(params.name, body.value, body.hosts ?? null)),
  );

  server.delete(
    '/v1/secrets/:name',
    {
      config: { scope: 'secrets' },
      schema: {
        operationId: 'removeSecret',
        tags: ['secrets'],
        summary: 'Remove a secret',
        params: NAME,
        querystring: NO_QUERY,
        response: { 204: NOTHING, ...failures(404) },
      },
    },
    async ({ service, params }, reply) => {
      await service.secrets.remove(params.name);
      return reply.code(204).send();
    },
  );
}

/** Keys are anybody's, within what they may do themselves: the service looks at that. Tenants are the admins'. */
export function keyRoutes(server: ApiServer): void {
  server.post(
    '/v1/keys',
    {
      config: { scope: 'caller' },
      schema: {
        operationId: 'createKey',
        tags: ['keys'],
        summary: 'Make a key; its secret is in this answer and nowhere else',
        body: KeyRequest,
        querystring: NO_QUERY,
        response: { 201: NewKeyAnswer, ...failures(404, 415) },
      },
    },
    async ({ service, body }, reply) => {
      const { key, secret } = await service.keys.create({
        name: body.name,
        tenant: body.tenant ?? null,
        scopes: body.scopes,
        expiresAt: fromTimeOrNull(body.expires_at ?? null),
      });
      return reply.code(201).send({ key: toKey(key), secret });
    },
  );

  server.get(
    '/v1/keys',
    {
      config: { scope: ['read', 'admin'] },
      schema: {
        operationId: 'listKeys',
        tags: ['keys'],
        summary: 'Keys, never their secrets',
        querystring: KeyFilter,
        response: { 200: pageOfComponent('Key'), ...failures(404) },
      },
    },
    async ({ service, query }) => {
      const { tenant = null, limit = PAGE, after = null } = query;
      const page = await service.keys.list({ tenant, limit, after });
      return { items: page.items.map(toKey), next: page.next };
    },
  );

  server.delete(
    '/v1/keys/:id',
    {
      config: { scope: 'caller' },
      schema: {
        operationId: 'revokeKey',
        tags: ['keys'],
        summary: 'Revoke a key',
        params: ID_PARAMS,
        querystring: NO_QUERY,
        response: { 200: component('Key'), ...failures(404) },
      },
    },
    async ({ service, params }) => toKey(await service.keys.revoke(params.id)),
  );

  server.post(
    '/v1/keys/:id/rotate',
    {
      config: { scope: 'caller' },
      schema: {
        operationId: 'rotateKey',
        tags: ['keys'],
        summary: 'A new secret for the same rights; the old one works on for a while',
        params: ID_PARAMS,
        body: RotateRequest,
        querystring: NO_QUERY,
        response: { 200: NewKeyAnswer, ...failures(404, 409, 415) },
      },
    },
    async ({ service, params, body }) => {
      const { key, secret } = await service.keys.rotate(params.id, body.overlap_seconds);
      return { key: toKey(key), secret };
    },
  );

  server.post(
    '/v1/tenants',
    {
      config: { scope: 'admin' },
      schema: {
        operationId: 'createTenant',
        tags: ['tenants'],
        summary: 'Make a tenant',
        body: TenantRequest,
        querystring: NO_QUERY,
        response: { 201: component('Tenant'), ...failures(409, 415) },
      },
    },
    async ({ service, body }, reply) =>
      reply.code(201).send(toTenant(await service.tenants.create(body.name, toQuotas(body.quotas ?? {})))),
  );

  server.get(
    '/v1/tenants',
    {
      config: { scope: 'admin' },
      schema: {
        operationId: 'listTenants',
        tags: ['tenants'],
        summary: 'Tenants, what they may use and what they use',
        querystring: PagingQuery,
        response: { 200: pageOfComponent('Tenant'), ...failures() },
      },
    },
    async ({ service, query }) => {
      const page = await service.tenants.list({ limit: query.limit ?? PAGE, after: query.after ?? null });
      return { items: page.items.map(toTenant), next: page.next };
    },
  );

  server.patch(
    '/v1/tenants/:name',
    {
      config: { scope: 'admin' },
      schema: {
        operationId: 'updateTenant',
        tags: ['tenants'],
        summary: 'Change what a tenant may use, or stop it',
        params: NAME,
        body: TenantChange,
        querystring: NO_QUERY,
        response: { 200: component('Tenant'), ...failures(404, 415) },
      },
    },
    async ({ service, params, body }) =>
      toTenant(
        await service.tenants.update(params.name, {
          quotas: body.quotas === undefined ? null : toQuotas(body.quotas),
          disabled: body.disabled ?? null,
        }),
      ),
  );
}
