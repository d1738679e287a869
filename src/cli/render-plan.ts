import { describePlan, type Foreseen } from '../app.ts';
import { EXIT, visible } from '../base/index.ts';
import type { Io } from './io.ts';

/** What would run, and what policy says to it. */
export function showPlan(foreseen: Foreseen, json: boolean, io: Io): number {
  const plan = describePlan(foreseen, 'operator');
  const { mounts, warnings, notes } = plan;
  const { spec } = foreseen.considered.planned;
  if (json) io.out(`${JSON.stringify(plan, null, 2)}\n`);
  else {
    const rows = mounts.map(
      mount => `  ${mount.at} (${mount.kind}${'writable' in mount && mount.writable ? ', writable' : ''})`,
    );
    io.out(
      `${[
        `would run: ${spec.argv.map(word => JSON.stringify(word)).join(' ')}`,
        `in: ${spec.cwd}`,
        `variables: ${plan.env.join(', ')}`,
        'mounts:',
        ...rows,
        ...plan.layers.map(({ manager, cached }) => `dependencies: ${manager}, ${cached ? 'built' : 'would be built'}`),
        `limits: ${Object.entries(spec.limits)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ')}`,
        `network: ${plan.network}`,
        `runtime: ${plan.runtime}`,
        `decision: ${plan.decision.verdict} (${plan.decision.reasons.join(' ')})`,
        ...warnings.map(warning => `warning: ${warning}`),
        ...notes.map(note => `note: ${note}`),
      ]
        .map(visible)
        .join('\n')}\n`,
    );
  }
  return EXIT.ok;
}
