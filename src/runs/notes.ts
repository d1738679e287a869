import { describeCarriers } from '../secrets/index.ts';
import type { Considered } from './consider.ts';
import type { Runner } from './plan.ts';

/** What should be known of a run's secrets before anybody agrees to it: what could carry data to others, and what is not set. */
export type Notes = { carriers: string[]; unset: string[] };

export async function notesOf({ providers, lending, caller }: Runner, { asked }: Considered): Promise<Notes> {
  const { secrets } = asked.grant;
  if (secrets.length === 0) return { carriers: [], unset: [] };
  const unset = await lending.unset(caller, secrets);
  return {
    carriers: describeCarriers(secrets, providers.list()),
    unset: unset.map(name => `${name} is not set, and without it nothing would run: skillbox secret set ${name}`),
  };
}
