import { newId } from '../base/index.ts';
import type { Call } from '../dialects/index.ts';
import type { Decision, Trust } from '../policy/index.ts';
import { thisOwner } from '../sandbox/index.ts';
import type { RunDecision, RunRecord } from '../store/index.ts';
import type { Planned, Runner, RunRequest } from './plan.ts';

/** A run as it is recorded first. */
export function newRecord(
  { caller }: Pick<Runner, 'caller'>,
  { skill, call }: RunRequest,
  { snapshot, warnings }: Planned,
): RunRecord {
  const now = Date.now();
  return {
    id: newId(now),
    tenant: caller.tenant,
    by: caller.actor,
    attempt: 1,
    state: 'preparing',
    createdAt: now,
    startedAt: null,
    endedAt: null,
    skill: { name: skill.name, version: skill.version, digest: snapshot.digest, dialect: skill.dialect },
    target: targetName(call),
    owner: JSON.stringify(thisOwner()),
    sandbox: null,
    ending: null,
    exitCode: null,
    output: null,
    error: null,
    warnings: [...warnings],
    decision: null,
    approval: null,
    waiting: null,
    artifacts: [],
    archive: null,
    usage: null,
    logBytes: 0,
  };
}

export function describeDecision({ verdict, rule, reasons }: Decision, trust: Trust): RunDecision {
  return { verdict, trust, rule: { ...rule }, reasons: [...reasons] };
}

function targetName({ target }: Call): string {
  switch (target.kind) {
    case 'main':
      return 'main';
    case 'tool':
      return target.name;
    case 'script':
      return target.path;
    case 'command':
      return target.argv[0] ?? '';
  }
}
