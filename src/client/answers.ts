import { type JsonObject, type Shape, shape } from '../base/index.ts';
import { type Activation, type ProviderInfo, RUN_STATES, type Scope } from '../service/index.ts';
import type {
  AuditEntryAnswer,
  DiffAnswer,
  ExecutionState,
  ExecutionSummary,
  GivenAnswerAnswer,
  KeyAnswer,
  LogAnswer,
  LogLineAnswer,
  PublishedAnswer,
  SecretAnswer,
  SkillAnswer,
  SkillDetailAnswer,
  TenantAnswer,
  WhoAmIAnswer,
} from '../wire/index.ts';

const { count, fields, flag, id, json, listOf, mapOf, number, object, oneOf, optional, orNull, text, time, word } =
  shape;

/** The shapes of the server's answers; their types are those of its schemas, so none of their fields can be left out. */

const artifact = fields<ExecutionSummary['artifacts'][number]>({ path: text, size: count, sha256: word });
const archive = fields<SkillAnswer['archive']>({ sha256: word, size: count });

const summary = {
  execution_id: id,
  // What `state` says more closely.
  status: word as Shape<ExecutionSummary['status']>,
  state: oneOf(RUN_STATES),
  created_at: time,
  started_at: orNull(time),
  ended_at: orNull(time),
  duration_ms: orNull(number),
  skill: fields<ExecutionSummary['skill']>({ name: text, version: orNull(text), digest: word, dialect: word }),
  target: text,
  by: text,
  end: orNull(object),
  exit_code: orNull(number),
  error: orNull(text),
  error_code: orNull(word),
  warnings: listOf(text),
  sandbox: orNull(
    fields<NonNullable<ExecutionSummary['sandbox']>>({ driver: word, enforces: mapOf(text), runtime: orNull(text) }),
  ),
  decision: orNull(
    fields<NonNullable<ExecutionSummary['decision']>>({
      verdict: word,
      trust: word,
      rule: object,
      reasons: listOf(text),
    }),
  ),
  approval: orNull(
    fields<NonNullable<ExecutionSummary['approval']>>({ answer: text, channel: text, by: text, at: time }),
  ),
  files_list: listOf(text),
  artifacts: listOf(artifact),
  archive: orNull(archive),
  usage: orNull(fields<NonNullable<ExecutionSummary['usage']>>({ cpu_ms: number, max_memory_bytes: number })),
  log_bytes: count,
};
export const EXECUTION_SUMMARY = fields<ExecutionSummary>(summary);
/** Also of an execution with its log: whoever wants that asks for it by itself. */
export const EXECUTION = fields<ExecutionState>({ ...summary, output: json });

export const LOG_LINE = fields<LogLineAnswer>({ stream: oneOf(['stdout', 'stderr']), time, text });
export const LOG = fields<LogAnswer>({ lines: listOf(LOG_LINE), offset: count, complete: flag });

const version = {
  name: word,
  version: word,
  description: text,
  // A newer server may know more of them.
  dialect: word as Shape<SkillAnswer['dialect']>,
  digest: word,
  archive,
  status: word as Shape<SkillAnswer['status']>,
  published_at: time,
  published_by: text,
  uploaded_at: time,
  yanked: orNull(fields<NonNullable<SkillAnswer['yanked']>>({ at: time, reason: text })),
  tags: listOf(word),
};
export const SKILL = fields<SkillAnswer>(version);
const tool = fields<SkillDetailAnswer['tools'][number]>({
  name: text,
  description: text,
  parameters: object,
  read_only: flag,
  always_ask: flag,
});
export const SKILL_DETAIL = fields<SkillDetailAnswer>({
  ...version,
  instructions: text,
  lang: optional(text),
  image: optional(text),
  tools: listOf(tool),
  scripts: listOf(text),
  files: listOf(fields<SkillDetailAnswer['files'][number]>({ path: text, size: count })),
  needs: fields<SkillDetailAnswer['needs']>({ network: text, secrets: listOf(text) }),
});
const diagnostic = fields<PublishedAnswer['warnings'][number]>({
  code: word,
  severity: oneOf(['error', 'warning', 'info']),
  message: text,
  file: text,
  line: count,
  column: count,
  hint: text,
  fix: orNull(fields<NonNullable<PublishedAnswer['warnings'][number]['fix']>>({ start: count, end: count, text })),
});
export const PUBLISHED = fields<PublishedAnswer>({ ...version, created: flag, warnings: listOf(diagnostic) });

type FileDiff = DiffAnswer['files'][number];
const fileState = fields<NonNullable<FileDiff['before']>>({ size: count, executable: flag, digest: word });
const hunk = { old_start: count, old_lines: count, new_start: count, new_lines: count, count };
const fileDiff = fields<FileDiff>({
  path: text,
  status: oneOf(['added', 'removed', 'changed', 'mode']),
  before: orNull(fileState),
  after: orNull(fileState),
  content: oneOf(['text', 'same', 'binary', 'large']),
  minimal: flag,
  hunks: listOf(fields<FileDiff['hunks'][number]>(hunk)),
  lines: listOf(fields<FileDiff['lines'][number]>({ op: oneOf([' ', '+', '-']), text, ended: flag })),
});
const fieldDiff = fields<DiffAnswer['fields'][number]>({
  field: text,
  change: oneOf(['added', 'removed', 'changed']),
  before: json,
  after: json,
});
export const DIFF = fields<DiffAnswer>({
  name: text,
  from: text,
  to: text,
  equal: flag,
  fields: listOf(fieldDiff),
  files: listOf(fileDiff),
});

export const GIVEN = fields<GivenAnswerAnswer>({
  id,
  answer: oneOf(['once', 'always', 'deny', 'deny-always']),
  by: text,
  channel: text,
  created_at: time,
  expires_at: orNull(time),
  revoked_at: orNull(time),
  skill: fields<GivenAnswerAnswer['skill']>({ name: text, version: orNull(text), digest: word }),
  target: text,
});
export const AUDIT_ENTRY = fields<AuditEntryAnswer>({
  chain: text,
  seq: count,
  time,
  type: word,
  actor: fields<AuditEntryAnswer['actor']>({ id: text, channel: text }),
  subject: orNull(text),
  data: object,
  prev: text,
  hash: text,
});

const scope = word as Shape<Scope>;
export const WHO_AM_I = fields<WhoAmIAnswer>({
  tenant: word,
  id: text,
  scopes: listOf(scope),
  expires_at: orNull(time),
});
export const KEY = fields<KeyAnswer>({
  id,
  tenant: word,
  name: text,
  scopes: listOf(scope),
  created_at: time,
  created_by: text,
  expires_at: orNull(time),
  last_used_at: orNull(time),
  revoked_at: orNull(time),
});
export type NewKey = { key: KeyAnswer; secret: string };
export const NEW_KEY = fields<NewKey>({ key: KEY, secret: word });
export const SECRET = fields<SecretAnswer>({
  name: word,
  kind: word,
  hosts: listOf(text),
  version: count,
  created_at: time,
  changed_at: time,
  used_at: orNull(time),
});
export const TENANT = fields<TenantAnswer>({
  name: word,
  created_at: time,
  disabled_at: orNull(time),
  quotas: fields<TenantAnswer['quotas']>({
    running: count,
    queued: count,
    storage_bytes: count,
    requests_per_minute: count,
  }),
  usage: fields<TenantAnswer['usage']>({ running: count, queued: count, storage_bytes: count }),
});

export const SECRETS = fields<{ secrets: SecretAnswer[] }>({ secrets: listOf(SECRET) });
export const PROVIDERS = fields<{ providers: ProviderInfo[] }>({
  providers: listOf(fields<ProviderInfo>({ name: word, origin: word, host: word, capabilities: listOf(word) })),
});
export const ACTIVATION = fields<Activation>({ name: word, version: word, digest: word, text, tokens: count });
export const VERIFIED = fields<{ ok: boolean; entries: number; wrong: JsonObject | null }>({
  ok: flag,
  entries: count,
  wrong: orNull(object),
});
export const CANCELED = fields<{ canceled: boolean }>({ canceled: flag });
export const URL_ANSWER = fields<{ url: string }>({ url: word });
