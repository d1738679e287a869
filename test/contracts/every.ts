import { answersContract } from './answers.ts';
import { journalContract } from './journal.ts';
import { logsContract } from './logs.ts';
import { queueContract } from './queue.ts';
import { secretsContract } from './secrets.ts';
import { skillsContract } from './skills.ts';
import { type StoreSubject, storeContract } from './store.ts';
import { tenancyContract } from './tenancy.ts';
import { tenantsContract } from './tenants.ts';

/** Every suite that a store must hold. A new one goes here, and runs on all of them. */
export function everyContract(name: string, make: () => Promise<StoreSubject>): void {
  for (const contract of [
    storeContract,
    journalContract,
    answersContract,
    tenancyContract,
    queueContract,
    logsContract,
    skillsContract,
    tenantsContract,
    secretsContract,
  ])
    contract(name, make);
}
