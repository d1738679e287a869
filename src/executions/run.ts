import type { Run } from '../service/index.ts';
import type { RunRecord } from '../store/index.ts';

/** A run as its tenant sees it, apart from the record: what becomes of that later does not change it. */
export function toRun(record: RunRecord): Run {
  const { id, state, createdAt, startedAt, endedAt, skill, target, ending, exitCode, output, error } = record;
  const { warnings, sandbox, decision, approval, artifacts, archive, usage, logBytes } = record;
  return {
    id,
    state,
    createdAt,
    startedAt,
    endedAt,
    skill: { ...skill },
    target,
    by: record.by.id,
    ending,
    exitCode,
    output,
    error: error === null ? null : { ...error },
    warnings: [...warnings],
    sandbox: sandbox === null ? null : { ...sandbox },
    decision: decision === null ? null : { ...decision, rule: { ...decision.rule }, reasons: [...decision.reasons] },
    approval: approval === null ? null : { ...approval },
    artifacts: [...artifacts],
    archive: archive === null ? null : { ...archive },
    usage: usage === null ? null : { ...usage },
    logBytes,
  };
}
