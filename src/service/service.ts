import type { ApprovalService, AuditService, CatalogService, PolicyService } from './guards.ts';
import type { KeyService, ProviderService, SecretService, TenantService, WhoAmI } from './people.ts';
import type { RunService } from './runs.ts';
import type { SkillService } from './skills.ts';

/**
 * Everything that one caller can do with Skillbox. There are two of them, in this process and over HTTP, and nobody who uses
 * one can tell which. A caller belongs to one tenant and sees nothing of another: what is not the tenant's is not there.
 */
export interface Service {
  readonly skills: SkillService;
  readonly runs: RunService;
  readonly approvals: ApprovalService;
  readonly catalog: CatalogService;
  readonly policy: PolicyService;
  readonly secrets: SecretService;
  readonly providers: ProviderService;
  readonly keys: KeyService;
  readonly tenants: TenantService;
  readonly audit: AuditService;
  whoAmI(): Promise<WhoAmI>;
  close(): Promise<void>;
}

/** A part of a long list, and where the next part begins; null after the last. */
export type Page<T> = { items: T[]; next: string | null };
/** `after` is the `next` of the page before. */
export type Paging = { limit: number; after: string | null };

/** Bytes on their way. */
export type Bytes = AsyncIterable<Uint8Array>;
