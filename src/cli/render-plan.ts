import type { Considered } from '../app.ts';
import { EXIT, visible } from '../base/index.ts';
import type { Io } from './io.ts';

/** What would run, and what policy says to it. */
export function showPlan({ planned, decision, asked }: Considered, json: boolean, io: Io): number {
  const { spec, snapshot, layers, warnings, invocation } = planned;
  const mounts = spec.mounts.map(mount => ({
    at: mount.at,
    kind: mount.kind,
    ...(mount.kind === 'bind' ? { source: mount.source, writable: mount.writable } : {}),
    ...(mount.kind === 'tmpfs' ? { bytes: mount.bytes } : {}),
  }));
  const plan = {
    argv: spec.argv,
    cwd: spec.cwd,
    env: Object.keys(spec.env).sort(),
    mounts,
    layers: layers.map(({ manager, key }) => ({ manager, key, cached: key !== null })),
    limits: spec.limits,
    network: asked.grant.network.kind,
    runtime: spec.runtime.kind === 'image' ? spec.runtime.name : 'host',
    digest: snapshot.digest,
    result: invocation.result,
    decision: {
      verdict: decision.verdict,
      trust: asked.trust,
      rule: decision.rule,
      reasons: decision.reasons,
      banner: decision.banner,
      answers: Object.fromEntries(decision.answers),
      grant: asked.grant,
    },
    warnings,
  };
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
      ]
        .map(visible)
        .join('\n')}\n`,
    );
  }
  return EXIT.ok;
}
