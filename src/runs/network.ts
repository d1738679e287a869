import { SkillboxError } from '../base/index.ts';
import type { NetworkGrant } from '../policy/index.ts';
import type { RunSpec } from '../sandbox/index.ts';
import type { Redactor } from '../secrets/index.ts';
import type { RunRecord } from '../store/index.ts';
import type { Planned, Runner } from './plan.ts';

/** What a run starts with, what takes its secrets out of what it leaves, and what is closed after it. */
export type Way = { spec: RunSpec; redact: Redactor | null; close: () => Promise<void> };

/** What of the granted network the run really has. */
export function networkOf({ wish, spec }: Pick<Planned, 'wish' | 'spec'>): NetworkGrant {
  const { network, isolated } = wish.grant;
  // Nothing holds the driver without isolation back, and nothing of ours stands in its way.
  if (!isolated || spec.network.kind !== 'none') return { kind: 'none' };
  return network;
}

/** The way out of a run that was granted one. While it is open nothing is started for runs to come. */
export async function openNetwork(runner: Runner, record: RunRecord, planned: Planned): Promise<Way> {
  const over = runner.standby.busy();
  try {
    const way = await openWay(runner, record, planned);
    return { ...way, close: () => way.close().finally(over) };
  } catch (error) {
    over();
    throw error;
  }
}

/** Most runs have none: what opens one is loaded with the first that has. */
async function openWay(runner: Runner, record: RunRecord, planned: Planned): Promise<Way> {
  const { secrets, isolated } = planned.wish.grant;
  if (!isolated && secrets.length > 0) throw unguarded(secrets);
  const network = networkOf(planned);
  if (network.kind === 'broker' || (network.kind !== 'none' && secrets.length > 0)) {
    const { openBroker } = await import('./broker.ts');
    return openBroker(runner, record, planned);
  }
  if (network.kind === 'none') return { spec: planned.spec, redact: null, close: async () => undefined };
  const { openProxy } = await import('./proxy.ts');
  return openProxy(runner, record, planned.spec, network);
}

/** SK-06: without a sandbox nothing would keep a token or a secret with the run that they are for. */
function unguarded(secrets: readonly string[]): SkillboxError {
  return new SkillboxError(
    'SANDBOX_CANNOT_ENFORCE',
    `a run without isolation gets no secrets (${secrets.join(', ')})`,
    {
      hint: 'Run it in a sandbox: leave --sandbox away.',
    },
  );
}
