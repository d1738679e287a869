import type { JsonValue } from '../base/index.ts';
import type { Run, RunService, StartRequest } from '../service/index.ts';

/** What a run may be given beyond its input; what is left out is the skill's own. */
export type RunWish = Partial<Omit<StartRequest, 'skill' | 'input'>> & { signal?: AbortSignal };

/** What most callers want: one run of the latest version, from its start until it has ended or waits for a person. */
export async function runSkill(
  runs: RunService,
  skill: string,
  input: JsonValue,
  { signal, ...wish }: RunWish,
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
  const { id } = await runs.start(request, { idempotencyKey: null });
  return runs.wait(id, { timeoutMs: null, signal: signal ?? null });
}
