import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import type { Outcome } from '../sandbox/index.ts';
import { statusOf } from '../skill/index.ts';
import type { Blobs, RunRecord } from '../store/index.ts';
import { COLLECT_LIMITS, collectFiles, collectOutput } from './collect.ts';
import { fail } from './endings.ts';
import { type Excerpt, makeEnvelope } from './envelope.ts';
import type { Planned } from './plan.ts';
import { scrubNames } from './scrub.ts';

export type Ended = {
  planned: Planned;
  outcome: Outcome;
  merged: Excerpt;
  blobs: Blobs;
  hostPath: (at: string) => string;
  /** From then on nobody waits for what it left. */
  signal: AbortSignal;
};

/** What a run that is over has brought: its envelope or its output file, and its artifacts. */
export async function recordResults(record: RunRecord, ended: Ended): Promise<void> {
  const { planned, outcome, merged, blobs, hostPath, signal } = ended;
  const { invocation, spec } = planned;
  if (invocation.result === 'envelope') {
    record.output = { ...makeEnvelope(outcome.end, merged, outcome.stdout, outcome.durationMs) };
  }
  const out = spec.mounts.find(mount => mount.kind === 'out');
  if (out === undefined) return;
  const directory = hostPath(out.at);
  // What was ended while its sandbox was being made may have none yet.
  if (statusOf(outcome.end).status !== 'success' && !existsSync(directory)) return;
  const problems: string[] = [];
  if (invocation.outputPath !== null) {
    const output = collectOutput(directory, posix.relative(out.at, invocation.outputPath), COLLECT_LIMITS);
    if ('problem' in output) problems.push(output.problem);
    else {
      record.output = output.value;
      record.warnings.push(...output.warnings);
    }
  }
  // The store takes no more than the run was allowed to write: a sparse file is small only where it was made.
  const limits = { ...COLLECT_LIMITS, totalBytes: Math.min(COLLECT_LIMITS.totalBytes, spec.limits.diskBytes) };
  const files = posix.relative(out.at, invocation.filesPath ?? out.at);
  const collected = await collectFiles(directory, files, blobs, limits, scrubNames(planned.redact), signal);
  record.artifacts = collected.artifacts;
  record.archive = collected.archive;
  record.warnings.push(...collected.warnings);
  if (collected.problem !== null) problems.push(collected.problem);
  const [first] = problems;
  if (first !== undefined && statusOf(outcome.end).status === 'success') {
    fail(record, { kind: 'bad-output' }, first);
    record.warnings.push(...problems.slice(1));
  } else record.warnings.push(...problems);
}
