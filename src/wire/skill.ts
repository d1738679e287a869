import { type Static, Type } from 'typebox';
import type { DialectName } from '../skill/index.ts';
import { AnyObject, Count, exactly, Json, oneOf, orNull, paging, Sha256, Time } from './common.ts';

/** Said here again: a bundle of the client must not reach the readers of skills. A name too few or too many is no type. */
const DIALECTS = {
  'agent-skills': true,
  skillbox: true,
  workspace: true,
  gibberish: true,
  seksbot: true,
} satisfies Record<DialectName, true>;

/** A name or version as a part of a path; what it may be, the registry says. */
export const NamePart = Type.String({ minLength: 1, maxLength: 256 });
export const VersionPart = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'a version, a range, a tag, or latest',
});

const version = {
  name: Type.String(),
  version: Type.String(),
  description: Type.String(),
  dialect: oneOf(Object.keys(DIALECTS) as DialectName[]),
  digest: Type.String({ description: 'of the content, whatever it was packed in' }),
  archive: exactly({ sha256: Sha256, size: Count }),
  status: oneOf(['available', 'yanked'] as const),
  published_at: Time,
  published_by: Type.String(),
  // The published clients' name for the time of publishing.
  uploaded_at: Time,
  yanked: orNull(exactly({ at: Time, reason: Type.String() })),
  tags: Type.Array(Type.String()),
};
export const SkillAnswer = exactly(version);
export type SkillAnswer = Static<typeof SkillAnswer>;

/** SB-14: an array, as the published clients read it; the header Link leads to the next part. */
export const SkillList = Type.Array(SkillAnswer);
export const SkillFilter = exactly({
  q: Type.Optional(Type.String({ maxLength: 1024, description: 'the best match first; without it by name' })),
  tag: Type.Optional(Type.String({ maxLength: 256 })),
  status: Type.Optional(Type.String({ maxLength: 64, description: 'available or all; others match nothing' })),
  ...paging(1000),
});

/** `active`: what `latest` means now. */
export const VersionList = Type.Array(exactly({ ...version, active: Type.Boolean() }));

const Tool = exactly({
  name: Type.String(),
  description: Type.String(),
  parameters: AnyObject,
  read_only: Type.Boolean({ description: "by its author's word it changes nothing" }),
  always_ask: Type.Boolean({ description: 'its author wants a person to be asked each time' }),
});
export type ToolAnswer = Static<typeof Tool>;
const File = exactly({ path: Type.String(), size: Count });
/** `lang` and `image` are left out where there is none: the published clients take them for text. */
export const SkillDetailAnswer = exactly({
  ...version,
  instructions: Type.String(),
  lang: Type.Optional(Type.String()),
  image: Type.Optional(Type.String()),
  tools: Type.Array(Tool),
  scripts: Type.Array(Type.String()),
  files: Type.Array(File),
  needs: exactly({ network: Type.String(), secrets: Type.Array(Type.String()) }),
});
export type SkillDetailAnswer = Static<typeof SkillDetailAnswer>;

export const ToolList = exactly({ name: Type.String(), version: Type.String(), tools: Type.Array(Tool) });
export const ScriptList = exactly({ name: Type.String(), version: Type.String(), scripts: Type.Array(Type.String()) });

export const DiagnosticAnswer = exactly({
  code: Type.String(),
  severity: oneOf(['error', 'warning', 'info'] as const),
  message: Type.String(),
  file: Type.String(),
  line: Count,
  column: Count,
  hint: Type.String(),
  fix: orNull(exactly({ start: Count, end: Count, text: Type.String() })),
});
export const PublishedAnswer = exactly({
  ...version,
  created: Type.Boolean({ description: 'false when these very bytes were there already' }),
  warnings: Type.Array(DiagnosticAnswer),
});
export type PublishedAnswer = Static<typeof PublishedAnswer>;

export const YankRequest = exactly({ reason: Type.String({ maxLength: 1024 }) });
export const TagRequest = exactly({ version: Type.String({ minLength: 1, maxLength: 256 }) });

const FileState = exactly({ size: Count, executable: Type.Boolean(), digest: Type.String() });
const DiffLine = exactly({ op: oneOf([' ', '+', '-'] as const), text: Type.String(), ended: Type.Boolean() });
const Hunk = exactly({
  old_start: Count,
  old_lines: Count,
  new_start: Count,
  new_lines: Count,
  count: Count,
});
/** `lines`: those of all hunks in a row, as the published clients read them; `count` of them belong to a hunk. */
export const DiffAnswer = exactly({
  name: Type.String(),
  from: Type.String(),
  to: Type.String(),
  equal: Type.Boolean(),
  fields: Type.Array(
    exactly({
      field: Type.String(),
      change: oneOf(['added', 'removed', 'changed'] as const),
      before: Json,
      after: Json,
    }),
  ),
  files: Type.Array(
    exactly({
      path: Type.String(),
      status: oneOf(['added', 'removed', 'changed', 'mode'] as const),
      before: orNull(FileState),
      after: orNull(FileState),
      content: oneOf(['text', 'same', 'binary', 'large'] as const),
      minimal: Type.Boolean(),
      hunks: Type.Array(Hunk),
      lines: Type.Array(DiffLine),
    }),
  ),
});
export type DiffAnswer = Static<typeof DiffAnswer>;

/** One file of a skill (AS-12). `content` is null where it is no text. */
export const SkillFileList = Type.Array(
  exactly({ path: Type.String(), size_bytes: Count, content: orNull(Type.String()) }),
);
