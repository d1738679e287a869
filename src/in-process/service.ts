import type { Identity } from '../callers/index.ts';
import { registryFor } from '../published.ts';
import type { Service, SkillService } from '../service/index.ts';
import { createApprovalService } from './approvals.ts';
import { createCatalogService } from './catalog.ts';
import { createAuditService, createPolicyService, createProviderService, createSecretService } from './guards.ts';
import type { Member, ServiceParts } from './parts.ts';
import { createRunService } from './runs.ts';

/** Everything that one caller can do, in this process. What a scope allows is for whoever lets callers in to say. */
export function createService(parts: ServiceParts, identity: Identity): Service {
  const { tenant, id, scopes, expiresAt } = identity;
  const caller: Member = { tenant, actor: { id, channel: identity.key === null ? 'oidc' : 'key' } };
  const keeper = { tenant, scopes, expiresAt, actor: caller.actor };
  let skills: SkillService | null = null;
  // Made when they are asked for: a request uses one of them.
  return {
    get skills(): SkillService {
      skills ??= registryFor(parts.parts, caller, parts.registry);
      return skills;
    },
    get runs() {
      return createRunService(parts, caller);
    },
    get approvals() {
      return createApprovalService(parts, caller);
    },
    get catalog() {
      return createCatalogService(parts, caller);
    },
    get policy() {
      return createPolicyService(parts, caller);
    },
    get secrets() {
      return createSecretService(parts, caller);
    },
    get providers() {
      return createProviderService(parts);
    },
    get keys() {
      return parts.callers.keysFor(keeper);
    },
    get tenants() {
      return parts.callers.tenantsFor(keeper);
    },
    get audit() {
      return createAuditService(parts, caller);
    },
    whoAmI: async () => ({ tenant, id, scopes: [...scopes], expiresAt }),
    close: async () => undefined,
  };
}
