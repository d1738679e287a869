import type { Fault } from './answer.ts';
import type { Allowance } from './grant.ts';
import type { Ask, Relaying } from './relaying.ts';

/** What the request may have, and it counts from now on; or why it does not go out. */
export function admit(
  { brief, judge, meter, flight }: Relaying,
  { method, target, provider, length }: Ask,
): Allowance | { fault: Fault; reason: string; capability: string | null } {
  const allowance = judge.decide(method, target, provider);
  if ('refused' in allowance) return { fault: 'denied', reason: allowance.refused, capability: null };
  const { capability } = allowance;
  const { requestBytes, concurrent } = brief.limits;
  if (length !== null && length > requestBytes)
    return { fault: 'too_large', reason: `a body of at most ${requestBytes} bytes is passed on`, capability };
  if (flight.count >= concurrent)
    return { fault: 'limit_reached', reason: `${concurrent} requests are under way already`, capability };
  const spent = meter.begin(capability);
  if (spent === null) return allowance;
  return { fault: 'limit_reached', reason: limitReached(spent, capability), capability };
}

export function limitReached(limit: string, capability: string): string {
  return `the limit of ${limit} a run for ${capability} is reached`;
}
