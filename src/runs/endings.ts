import { isForCallers, SkillboxError } from '../base/index.ts';
import { type Ending, statusOf } from '../skill/index.ts';
import type { RunRecord } from '../store/index.ts';

/** Writes into the record how the run ended, with its error code and a sentence for people. */
export function setEnding(record: RunRecord, ending: Ending): void {
  record.ending = { ...ending };
  record.exitCode = ending.kind === 'exited' ? ending.code : null;
  const { error } = statusOf(ending);
  record.error = error === null ? null : { code: error, message: describeEnding(ending) };
}

/** An end that the run itself did not choose, with what happened. */
export function fail(record: RunRecord, ending: Ending, message: string): void {
  setEnding(record, ending);
  record.error = { code: statusOf(ending).error ?? 'FAILED', message };
}

/**
 * A fault of ours ended it. Threat: such faults speak of hosts, buckets and paths of the server, and a tenant reads its runs; the log
 * of the server has them.
 */
export function failBy(record: RunRecord, error: unknown): void {
  const isTold = record.tenant === null || isForCallers(error);
  const message = error instanceof Error ? error.message : String(error);
  const closed = 'the server could not do this; its log says why, under the id of the run';
  fail(record, { kind: 'interrupted' }, isTold ? message : closed);
  if (error instanceof SkillboxError && record.error !== null) record.error.code = error.code;
}

function describeEnding(ending: Ending): string {
  switch (ending.kind) {
    case 'exited':
      return `the skill ended with exit code ${ending.code}`;
    case 'signaled':
      return `the skill was ended by ${ending.signal}`;
    case 'timeout':
      return 'the time limit was reached';
    case 'canceled':
      return 'the run was canceled';
    case 'out-of-memory':
      return 'the memory limit was reached';
    case 'output-limit':
      return 'the skill printed more than the output limit';
    case 'disk-limit':
      return 'the skill wrote more than the disk limit';
    case 'pids-limit':
      return 'the skill started more processes than the limit';
    default:
      return `the run ended as ${ending.kind}`;
  }
}
