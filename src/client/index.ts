/** Skillbox over HTTP: the same service as in process. It uses nothing but `fetch`, so it also works in a browser. */
import type { Service } from '../service/index.ts';
import { fromWhoAmI, type WhoAmIAnswer } from '../wire/index.ts';
import { createApprovals, createAudit, createCatalog, createPolicy } from './guards.ts';
import { createKeys, createProviders, createSecrets, createTenants } from './people.ts';
import { createRuns } from './runs.ts';
import { createSkills } from './skills.ts';
import { type ClientOptions, Transport } from './transport.ts';

export { type ErrorCode, SkillboxError } from '../base/index.ts';
export type * from '../service/index.ts';
export type { ClientOptions } from './transport.ts';

/** Connects when something is asked, not before. `close` ends what is under way. */
export function createClient(options: ClientOptions): Service {
  const transport = new Transport(options);
  return {
    skills: createSkills(transport),
    runs: createRuns(transport),
    approvals: createApprovals(transport),
    catalog: createCatalog(transport),
    policy: createPolicy(transport),
    secrets: createSecrets(transport),
    providers: createProviders(transport),
    keys: createKeys(transport),
    tenants: createTenants(transport),
    audit: createAudit(transport),
    async whoAmI() {
      const ask = { method: 'GET', path: ['v1', 'whoami'], safety: 'always' } as const;
      return fromWhoAmI(await transport.json<WhoAmIAnswer>(ask));
    },
    async close() {
      transport.close();
    },
  };
}
