import type { KeyInfo, Quotas, SecretInfo, TenantInfo, WhoAmI } from '../service/index.ts';
import type { KeyAnswer, QuotasRequest, SecretAnswer, TenantAnswer, WhoAmIAnswer } from './people.ts';
import { fromTime, fromTimeOrNull, toTime, toTimeOrNull } from './times.ts';

export const toWhoAmI = ({ tenant, id, scopes, expiresAt }: WhoAmI): WhoAmIAnswer => ({
  tenant,
  id,
  scopes,
  expires_at: toTimeOrNull(expiresAt),
});
export const fromWhoAmI = ({ tenant, id, scopes, expires_at }: WhoAmIAnswer): WhoAmI => ({
  tenant,
  id,
  scopes,
  expiresAt: fromTimeOrNull(expires_at),
});

export const toSecret = (info: SecretInfo): SecretAnswer => ({
  name: info.name,
  kind: info.kind,
  hosts: info.hosts,
  version: info.version,
  created_at: toTime(info.createdAt),
  changed_at: toTime(info.changedAt),
  used_at: toTimeOrNull(info.usedAt),
});
export const fromSecret = (answer: SecretAnswer): SecretInfo => ({
  name: answer.name,
  kind: answer.kind,
  hosts: answer.hosts,
  version: answer.version,
  createdAt: fromTime(answer.created_at),
  changedAt: fromTime(answer.changed_at),
  usedAt: fromTimeOrNull(answer.used_at),
});

export const toKey = (info: KeyInfo): KeyAnswer => ({
  id: info.id,
  tenant: info.tenant,
  name: info.name,
  scopes: info.scopes,
  created_at: toTime(info.createdAt),
  created_by: info.createdBy,
  expires_at: toTimeOrNull(info.expiresAt),
  last_used_at: toTimeOrNull(info.lastUsedAt),
  revoked_at: toTimeOrNull(info.revokedAt),
});
export const fromKey = (answer: KeyAnswer): KeyInfo => ({
  id: answer.id,
  tenant: answer.tenant,
  name: answer.name,
  scopes: answer.scopes,
  createdAt: fromTime(answer.created_at),
  createdBy: answer.created_by,
  expiresAt: fromTimeOrNull(answer.expires_at),
  lastUsedAt: fromTimeOrNull(answer.last_used_at),
  revokedAt: fromTimeOrNull(answer.revoked_at),
});

export const toTenant = ({ name, createdAt, disabledAt, quotas, usage }: TenantInfo): TenantAnswer => ({
  name,
  created_at: toTime(createdAt),
  disabled_at: toTimeOrNull(disabledAt),
  quotas: {
    running: quotas.running,
    queued: quotas.queued,
    storage_bytes: quotas.storageBytes,
    requests_per_minute: quotas.requestsPerMinute,
  },
  usage: { running: usage.running, queued: usage.queued, storage_bytes: usage.storageBytes },
});
export const fromTenant = ({ name, created_at, disabled_at, quotas, usage }: TenantAnswer): TenantInfo => ({
  name,
  createdAt: fromTime(created_at),
  disabledAt: fromTimeOrNull(disabled_at),
  quotas: {
    running: quotas.running,
    queued: quotas.queued,
    storageBytes: quotas.storage_bytes,
    requestsPerMinute: quotas.requests_per_minute,
  },
  usage: { running: usage.running, queued: usage.queued, storageBytes: usage.storage_bytes },
});

export function toQuotas(wish: QuotasRequest): Partial<Quotas> {
  return {
    ...(wish.running === undefined ? {} : { running: wish.running }),
    ...(wish.queued === undefined ? {} : { queued: wish.queued }),
    ...(wish.storage_bytes === undefined ? {} : { storageBytes: wish.storage_bytes }),
    ...(wish.requests_per_minute === undefined ? {} : { requestsPerMinute: wish.requests_per_minute }),
  };
}
export function fromQuotas(wish: Partial<Quotas>): QuotasRequest {
  return {
    ...(wish.running === undefined ? {} : { running: wish.running }),
    ...(wish.queued === undefined ? {} : { queued: wish.queued }),
    ...(wish.storageBytes === undefined ? {} : { storage_bytes: wish.storageBytes }),
    ...(wish.requestsPerMinute === undefined ? {} : { requests_per_minute: wish.requestsPerMinute }),
  };
}
