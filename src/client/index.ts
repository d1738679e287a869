/** Skillbox over HTTP: the same service as in process. It uses nothing but `fetch`, so it also works in a browser. */
import type { JsonValue } from '../base/index.ts';
import type { Run, Service } from '../service/index.ts';
import { fromWhoAmI } from '../wire/index.ts';
import { WHO_AM_I } from './answers.ts';
import { createApprovals, createAudit, createCatalog, createPolicy } from './guards.ts';
import { createKeys, createProviders, createSecrets, createTenants } from './people.ts';
import { type RunWish, runSkill } from './run.ts';
import { createRuns } from './runs.ts';
import { createSkills } from './skills.ts';
import { type ClientOptions, Transport } from './transport.ts';

export { type ErrorCode, SkillboxError } from '../base/index.ts';
export type * from '../service/index.ts';
export type { RunWish } from './run.ts';
export type { ClientOptions } from './transport.ts';

export interface Client extends Service {
  /** Starts a skill and answers when it has ended, or waits for a person: look at its `state`. A failed run is no error. */
  run(skill: string, input: JsonValue, wish?: RunWish): Promise<Run>;
}

/** Connects when something is asked, not before. `close` ends what is under way. */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const runs = createRuns(transport);
  return {
    run: (skill, input, wish = {}) => runSkill(transport, runs, skill, input, wish),
    skills: createSkills(transport),
    runs,
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
      return fromWhoAmI(await transport.json(ask, WHO_AM_I));
    },
    async close() {
      transport.close();
    },
  };
}
