import { type Static, Type } from 'typebox';
import { RUN_STATES } from '../service/index.ts';
import { AnyObject, Count, exactly, Json, oneOf, orNull, pageOf, paging, Sha256, TextMap, Time } from './common.ts';

export const STATUSES = ['pending', 'running', 'success', 'failed', 'timeout'] as const;
/** SB-14: what the published clients know. `state` says it more closely. */
export type Status = (typeof STATUSES)[number];

const SkillName = Type.String({ minLength: 1, maxLength: 256 });
const ELSEWHERE = 'of other servers; refused here unless it is empty';
const Wanted = Type.String({ maxLength: 256, description: 'a version, a range, a tag; without it, latest' });

/** Which part of a skill is meant: `tool` or `script`, or neither for its entrypoint. */
export const targetFields = {
  tool: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'run this tool of the skill' })),
  script: Type.Optional(Type.String({ minLength: 1, maxLength: 1024, description: 'run this file of scripts/' })),
  arguments: Type.Optional(
    Type.Unsafe<Record<string, unknown> | string[]>({
      type: ['object', 'array'],
      additionalProperties: true,
      items: { type: 'string' },
      description: 'of a tool: an object; of a script: a list of words',
    }),
  ),
};

export const ExecutionRequest = exactly({
  skill: SkillName,
  version: Type.Optional(orNull(Wanted)),
  input: Type.Optional(Json),
  env: Type.Optional(orNull(TextMap)),
  ...targetFields,
  stdin: Type.Optional(orNull(Type.String())),
  timeout_ms: Type.Optional(
    orNull(Type.Integer({ minimum: 1, description: 'can only shorten the time of the skill' })),
  ),
  capabilities: Type.Optional(
    orNull(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        maxItems: 64,
        description: 'given beside what the skill declares, such as anthropic/messages.create; judged like those',
      }),
    ),
  ),
  // Known to some of the published clients. Whoever uses one of them is told that it is not here, instead of being passed over.
  input_files: Type.Optional(orNull(Type.Array(Type.String(), { maxItems: 1000, description: ELSEWHERE }))),
  entrypoint: Type.Optional(orNull(Type.String({ maxLength: 1024, description: ELSEWHERE }))),
  session_id: Type.Optional(orNull(Type.String({ maxLength: 1024, description: ELSEWHERE }))),
});
export type ExecutionRequest = Static<typeof ExecutionRequest>;

export const ArtifactAnswer = exactly({ path: Type.String(), size: Count, sha256: Sha256 });

const ErrorText = orNull(Type.String({ description: 'why it failed, for people' }));
/** What a list says of an execution. */
const summary = {
  execution_id: Type.String(),
  status: oneOf(STATUSES),
  state: oneOf(RUN_STATES),
  created_at: Time,
  started_at: orNull(Time),
  ended_at: orNull(Time),
  duration_ms: orNull(Count),
  skill: exactly({
    name: Type.String(),
    version: orNull(Type.String()),
    digest: Type.String(),
    dialect: Type.String(),
  }),
  target: Type.String(),
  by: Type.String({ description: 'who asked for it' }),
  end: Json,
  exit_code: orNull(Type.Integer()),
  error: ErrorText,
  error_code: orNull(Type.String()),
  warnings: Type.Array(Type.String()),
  sandbox: orNull(exactly({ driver: Type.String(), enforces: TextMap, runtime: orNull(Type.String()) })),
  decision: orNull(
    exactly({ verdict: Type.String(), trust: Type.String(), rule: AnyObject, reasons: Type.Array(Type.String()) }),
  ),
  approval: orNull(exactly({ answer: Type.String(), channel: Type.String(), by: Type.String(), at: Time })),
  files_list: Type.Array(Type.String()),
  artifacts: Type.Array(ArtifactAnswer),
  archive: orNull(exactly({ sha256: Sha256, size: Count })),
  usage: orNull(exactly({ cpu_ms: Type.Number({ minimum: 0 }), max_memory_bytes: Type.Number({ minimum: 0 }) })),
  log_bytes: Count,
};
export const ExecutionSummary = exactly(summary);
export type ExecutionSummary = Static<typeof ExecutionSummary>;

/** As an event carries it: with what it brought, but without the text of its log. */
export const ExecutionState = exactly({ ...summary, output: Json });
export type ExecutionState = Static<typeof ExecutionState>;

/** SB-14: all of it. `files_url` is signed when this is read. */
export const ExecutionAnswer = exactly({
  ...summary,
  output: Json,
  logs: Type.String({ description: 'what it printed, up to a bound' }),
  logs_truncated: Type.Boolean(),
  files_url: orNull(Type.String({ description: 'a tar.gz of its files, for anybody until it expires' })),
});
export type ExecutionAnswer = Static<typeof ExecutionAnswer>;

export const ExecutionPage = pageOf(ExecutionSummary);
export const ExecutionFilter = exactly({
  state: Type.Optional(Type.Array(oneOf(RUN_STATES), { maxItems: RUN_STATES.length })),
  skill: Type.Optional(SkillName),
  since: Type.Optional(Time),
  ...paging(500),
});

export const LogLineAnswer = exactly({ stream: oneOf(['stdout', 'stderr'] as const), time: Time, text: Type.String() });
export type LogLineAnswer = Static<typeof LogLineAnswer>;
export const LogAnswer = exactly({
  lines: Type.Array(LogLineAnswer),
  offset: Count,
  complete: Type.Boolean(),
});
export type LogAnswer = Static<typeof LogAnswer>;

export const CancelAnswer = exactly({ canceled: Type.Boolean({ description: 'false when it had ended already' }) });
export const ArtifactList = exactly({
  artifacts: Type.Array(ArtifactAnswer),
  archive: orNull(exactly({ sha256: Sha256, size: Count })),
});
export const UrlAnswer = exactly({ url: Type.String(), expires_at: Time });
