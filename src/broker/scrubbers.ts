import type { CustomSecret } from './brief.ts';
import type { Allowance } from './grant.ts';
import { Scrubber } from './scrub.ts';

/** What was put into this request must not come back. Kept, because spelling a value in every way takes its time. */
export function scrubberFor(kept: Map<string, Scrubber>, allowance: Allowance): Scrubber {
  const key = [allowance.capability, ...allowance.customs.map(({ key: name }) => name)].join(' ');
  const found = kept.get(key) ?? createScrubber(allowance);
  kept.set(key, found);
  return found;
}

function createScrubber({ endpoint, customs }: Allowance): Scrubber {
  const bound = customs.filter((custom: CustomSecret) => custom.hosts.length > 0).map(({ value }) => value);
  const { auth } = endpoint ?? { auth: null };
  const pair = auth?.form === 'basic' ? [`${auth.user}:${auth.value}`] : [];
  return new Scrubber([...(auth === null ? [] : [auth.value]), ...pair, ...bound]);
}
