import type { JsonValue } from '../base/index.ts';
import type { Run, RunService, StartRequest } from '../service/index.ts';
import { startRun } from './runs.ts';
import type { Transport } from './transport.ts';

/** What a run may be given beyond its input; what is left out is the skill's own. */
export type RunWish = Partial<Omit<StartRequest, 'skill' | 'input'>> & { signal?: AbortSignal };

/** What most callers want: one run of the latest version, from its start until it has ended or waits for a person. */
export async function runSkill(
  transport: Transport,
  runs: RunService,
  skill: string,
  input: JsonValue,
  { signal: given, ...wish }: RunWish,
): Promise<Run> {
  const request: StartRequest = {
    skill,
    version: null,
    target: { kind: 'main' },
    input,
    stdin: null,
    env: {},
    timeoutMs: null,
    ...wish,
  };
  const signal = given ?? null;
  const { id } = await startRun(transport, request, { idempotencyKey: null, signal });
  return runs.wait(id, { timeoutMs: null, signal });
}
