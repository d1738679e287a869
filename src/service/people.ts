import type { Page, Paging } from './service.ts';

export const SCOPES = ['read', 'run', 'publish', 'approve', 'secrets', 'admin'] as const;
/** `admin` is over tenants and keys; it brings none of the others. */
export type Scope = (typeof SCOPES)[number];

export type WhoAmI = { tenant: string; id: string; scopes: Scope[]; expiresAt: number | null };

/** Written, never read back. */
export interface SecretService {
  list(): Promise<SecretInfo[]>;
  /** A new secret, or a new value of one. `hosts` null: as they were, or as the providers say. */
  set(name: string, value: string, hosts: readonly string[] | null): Promise<SecretInfo>;
  remove(name: string): Promise<void>;
}
export type SecretInfo = {
  name: string;
  kind: string;
  hosts: string[];
  version: number;
  createdAt: number;
  changedAt: number;
  usedAt: number | null;
};

export interface ProviderService {
  list(): Promise<ProviderInfo[]>;
}
export type ProviderInfo = { name: string; origin: string; host: string; capabilities: string[] };

/** API keys of the caller's own tenant; an admin may name another. */
export interface KeyService {
  /**
   * The secret is in this answer and nowhere else. Nobody gives a scope that they do not have, unless they are admin. What
   * others make is still theirs: it ends with the key that it was made with, and does not answer for what that one asks.
   */
  create(wish: KeyWish): Promise<{ key: KeyInfo; secret: string }>;
  list(filter: { tenant: string | null } & Paging): Promise<Page<KeyInfo>>;
  /** One's own, or one that was made with it; an admin any. The same for `rotate`. */
  revoke(id: string): Promise<KeyInfo>;
  /** A new secret for the same rights; the old one still works for `overlapSeconds`. */
  rotate(id: string, overlapSeconds: number): Promise<{ key: KeyInfo; secret: string }>;
}
export type KeyWish = { name: string; tenant: string | null; scopes: readonly Scope[]; expiresAt: number | null };
export type KeyInfo = {
  id: string;
  tenant: string;
  name: string;
  scopes: Scope[];
  createdAt: number;
  createdBy: string;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
};

/** For admins. */
export interface TenantService {
  create(name: string, quotas: Partial<Quotas>): Promise<TenantInfo>;
  list(paging: Paging): Promise<Page<TenantInfo>>;
  update(name: string, change: { quotas: Partial<Quotas> | null; disabled: boolean | null }): Promise<TenantInfo>;
}
export type TenantInfo = {
  name: string;
  createdAt: number;
  disabledAt: number | null;
  quotas: Quotas;
  usage: { running: number; queued: number; storageBytes: number };
};
/** Beyond them the answer is 429 with Retry-After, or 507 for storage. */
export type Quotas = { running: number; queued: number; storageBytes: number; requestsPerMinute: number };
