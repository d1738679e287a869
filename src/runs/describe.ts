import type { Skill } from '../skill/index.ts';
import type { Explained } from './explain.ts';
import type { Question } from './question.ts';
import type { Foreseen } from './start.ts';

/** `operator`: whose machine it is. `caller`: somebody elsewhere, who is not told where things lie here. */
export type Reader = 'operator' | 'caller';

/** What would run, and what policy says to it, as plain data. */
export function describePlan({ considered: { planned, decision, asked }, notes }: Foreseen, reader: Reader) {
  const { spec, snapshot, layers, warnings, invocation } = planned;
  const mounts = spec.mounts.map(mount => ({
    at: mount.at,
    kind: mount.kind,
    ...(mount.kind === 'bind' ? { writable: mount.writable } : {}),
    ...(mount.kind === 'bind' && reader === 'operator' ? { source: mount.source } : {}),
    ...(mount.kind === 'tmpfs' ? { bytes: mount.bytes } : {}),
  }));
  return {
    argv: [...spec.argv],
    cwd: spec.cwd,
    env: Object.keys(spec.env).sort(),
    mounts,
    layers: layers.map(({ manager, key }) => ({ manager, key, cached: key !== null })),
    limits: { ...spec.limits },
    network: asked.grant.network.kind,
    runtime: spec.runtime.kind === 'image' ? spec.runtime.name : 'host',
    digest: snapshot.digest,
    result: invocation.result,
    decision: {
      verdict: decision.verdict,
      trust: asked.trust,
      rule: { ...decision.rule },
      reasons: [...decision.reasons],
      banner: decision.banner,
      answers: Object.fromEntries([...decision.answers].map(([channel, answers]) => [channel, [...answers]])),
      grant: asked.grant,
    },
    warnings: [...warnings],
    notes: [...notes.carriers, ...notes.unset],
  };
}

/** What a person is asked, as plain data. */
export function describeQuestion(question: Question, reader: Reader) {
  if (reader === 'operator') return question;
  const { place: _place, ...skill } = question.skill;
  const mounts = question.preview.mounts.map(({ source: _source, ...mount }) => mount);
  return { ...question, skill, preview: { ...question.preview, mounts } };
}

/** Which rule decides about a skill, as plain data. */
export function describeExplained(skill: Skill, { vouched, terms, targets }: Explained) {
  return {
    skill: skill.name,
    dialect: skill.dialect,
    trust: vouched.trust,
    publisher: vouched.publisher,
    trustBecause: vouched.why,
    alwaysLastsMs: terms.alwaysMs,
    targets: targets.map(({ request, beyond, decision }) => ({
      target: { ...request.target },
      verdict: decision.verdict,
      rule: { ...decision.rule },
      reasons: [...decision.reasons],
      banner: decision.banner,
      grant: request.grant,
      beyondLeastPower: beyond,
      answers: Object.fromEntries([...decision.answers].map(([channel, answers]) => [channel, [...answers]])),
    })),
  };
}
