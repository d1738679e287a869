import type { Caller } from '../audit/index.ts';
import type { Callers } from '../callers/index.ts';
import type { Executions } from '../executions/index.ts';
import type { Parts } from '../parts.ts';
import type { RegistrySettings } from '../published.ts';
import type { Machine } from '../runs/index.ts';
import type { EndHold } from './room.ts';
import type { PublishedSkills } from './skills.ts';

/** What every service of this process is made of. */
export type ServiceParts = {
  parts: Parts;
  machine: Machine;
  executions: Executions;
  callers: Callers;
  published: PublishedSkills;
  registry: RegistrySettings;
  /** Keeps room for a request of the tenant, or throws QUOTA_EXCEEDED. */
  hold(tenant: string, bytes: number): Promise<EndHold>;
};

/** What a part of a service needs to know of who calls: always somebody of a tenant. */
export type Member = Caller & { tenant: string };
