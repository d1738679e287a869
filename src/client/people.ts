import { shape } from '../base/index.ts';
import type { KeyService, ProviderService, SecretService, TenantService } from '../service/index.ts';
import { fromKey, fromQuotas, fromSecret, fromTenant } from '../wire/index.ts';
import { KEY, NEW_KEY, type NewKey, PROVIDERS, SECRET, SECRETS, TENANT } from './answers.ts';
import { MAX_PAGE } from './runs.ts';
import { timeText } from './sent.ts';
import type { Transport } from './transport.ts';

export function createSecrets(transport: Transport): SecretService {
  const path = (...parts: string[]) => ['v1', 'secrets', ...parts];
  return {
    async list() {
      const ask = { method: 'GET', path: path(), safety: 'always' } as const;
      return (await transport.json(ask, SECRETS)).secrets.map(fromSecret);
    },
    async set(name, value, hosts) {
      const ask = { method: 'PUT', path: path(name), json: { value, hosts }, safety: 'always' } as const;
      return fromSecret(await transport.json(ask, SECRET));
    },
    async remove(name) {
      await transport.done({ method: 'DELETE', path: path(name), safety: 'refused' });
    },
  };
}

export function createProviders(transport: Transport): ProviderService {
  return {
    async list() {
      const ask = { method: 'GET', path: ['v1', 'providers'], safety: 'always' } as const;
      return (await transport.json(ask, PROVIDERS)).providers;
    },
  };
}

export function createKeys(transport: Transport): KeyService {
  const path = (...parts: string[]) => ['v1', 'keys', ...parts];
  const made = ({ key, secret }: NewKey) => ({ key: fromKey(key), secret });
  return {
    async create({ name, tenant, scopes, expiresAt }) {
      const json = { name, tenant, scopes, expires_at: timeText(expiresAt) };
      // Made twice there would be a key whose secret nobody knows.
      return made(await transport.json({ method: 'POST', path: path(), json, safety: 'refused' }, NEW_KEY));
    },
    async list({ tenant, limit, after }) {
      const query = { tenant, limit: Math.min(limit, MAX_PAGE), after };
      const page = await transport.json({ method: 'GET', path: path(), query, safety: 'always' }, shape.pageOf(KEY));
      return { items: page.items.map(fromKey), next: page.next };
    },
    async revoke(id) {
      return fromKey(await transport.json({ method: 'DELETE', path: path(id), safety: 'always' }, KEY));
    },
    async rotate(id, overlapSeconds) {
      const json = { overlap_seconds: overlapSeconds };
      const ask = { method: 'POST', path: path(id, 'rotate'), json, safety: 'refused' } as const;
      return made(await transport.json(ask, NEW_KEY));
    },
  };
}

export function createTenants(transport: Transport): TenantService {
  const path = (...parts: string[]) => ['v1', 'tenants', ...parts];
  return {
    async create(name, quotas) {
      const json = { name, quotas: fromQuotas(quotas) };
      const ask = { method: 'POST', path: path(), json, safety: 'refused' } as const;
      return fromTenant(await transport.json(ask, TENANT));
    },
    async list({ limit, after }) {
      const query = { limit: Math.min(limit, MAX_PAGE), after };
      const page = await transport.json({ method: 'GET', path: path(), query, safety: 'always' }, shape.pageOf(TENANT));
      return { items: page.items.map(fromTenant), next: page.next };
    },
    async update(name, { quotas, disabled }) {
      const json = {
        ...(quotas === null ? {} : { quotas: fromQuotas(quotas) }),
        ...(disabled === null ? {} : { disabled }),
      };
      const ask = { method: 'PATCH', path: path(name), json, safety: 'always' } as const;
      return fromTenant(await transport.json(ask, TENANT));
    },
  };
}
