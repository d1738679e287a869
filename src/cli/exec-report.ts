import type { RunState } from '../app.ts';
import { EXIT, renderDuration, SkillboxError, visible, visibleLine } from '../base/index.ts';
import type { LogLine } from '../service/index.ts';
import { columns, type Input } from './command.ts';
import type { Io } from './io.ts';
import { durationOf, type ShownRun, toSummary } from './run-result.ts';

/** What `skillbox exec` prints, of runs on this machine and on a server alike. */

export function readRunFilter(input: Input): { states: RunState[] | null; limit: number } {
  const limit = Number(input.value('limit') ?? 20);
  if (!Number.isInteger(limit) || limit < 1) throw new SkillboxError('USAGE', '--limit is a number from 1');
  const state = input.value('state') as RunState | null;
  return { states: state === null ? null : [state], limit };
}

export function showRuns(runs: readonly ShownRun[], input: Input, io: Io): number {
  if (input.flag('json')) io.out(`${JSON.stringify({ runs: runs.map(toSummary) }, null, 2)}\n`);
  else if (runs.length === 0) io.err('There are no runs yet.\n');
  else io.out(`${columns(runs.map(rowOf)).join('\n')}\n`);
  return EXIT.ok;
}

function rowOf(run: ShownRun): [string, string] {
  const when = new Date(run.createdAt).toISOString().slice(0, 19).replace('T', ' ');
  const duration = durationOf(run);
  const took = duration === null ? '' : renderDuration(duration);
  const what = `${visibleLine(run.skill.name)} ${visibleLine(run.target)}`;
  return [run.id, `${run.state.padEnd(10)} ${when}  ${took.padEnd(6)} ${what}`];
}

export function showCanceled(asked: boolean, input: Input, io: Io): number {
  if (input.flag('json')) io.out(`${JSON.stringify({ canceled: asked })}\n`);
  else io.out(asked ? 'asked to end\n' : 'the run has ended already\n');
  return EXIT.ok;
}

export function printPiece({ stream, timeMs, text }: LogLine, input: Input, io: Io): void {
  if (input.flag('json')) io.out(`${JSON.stringify({ stream, time: new Date(timeMs).toISOString(), text })}\n`);
  else if (stream === 'stdout') io.out(visible(text));
  else io.err(visible(text));
}
