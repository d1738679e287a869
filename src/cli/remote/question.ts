import type { Question } from '../../app.ts';
import { type JsonObject, type Shape, shape } from '../../base/index.ts';
import type { FileChange, SkillDiff } from '../../skill/index.ts';
import { readAs } from './read-as.ts';

const { count, fields, flag, json, listOf, mapOf, number, oneOf, orNull, text, word } = shape;

/** What a person is shown of a question, as a server tells it. */
type Shown = Pick<Question, 'target' | 'banner' | 'reasons' | 'warnings' | 'change' | 'problem'> & {
  skill: Omit<Question['skill'], 'place'>;
  trust: string;
  preview: Omit<Question['preview'], 'mounts'> & { mounts: Omit<Question['preview']['mounts'][number], 'source'>[] };
};

type Hunks = { kind: 'text'; hunks: unknown[]; minimal: boolean };
const hunk = fields({
  oldStart: count,
  oldLines: count,
  newStart: count,
  newLines: count,
  lines: listOf(fields({ kind: oneOf(['same', 'added', 'removed']), text, ended: flag })),
});
const texts = fields<Hunks>({ kind: oneOf(['text']), hunks: listOf(hunk), minimal: flag });
const others = fields({ kind: oneOf(['same', 'binary', 'large']) });
const content: Shape<FileChange['content']> = (value, at) => (others(value, at) === null ? null : texts(value, at));
const state = orNull(fields<NonNullable<FileChange['before']>>({ size: count, executable: flag, digest: text }));
const diff = fields<SkillDiff>({
  equal: flag,
  fields: listOf(
    fields<SkillDiff['fields'][number]>({
      field: text,
      change: oneOf(['added', 'removed', 'changed']),
      before: json,
      after: json,
    }),
  ),
  files: listOf(
    fields<FileChange>({
      path: text,
      change: oneOf(['added', 'removed', 'changed', 'mode']),
      before: state,
      after: state,
      content,
    }),
  ),
});

const QUESTION = fields<Shown>({
  skill: fields<Shown['skill']>({ name: text, version: orNull(text), description: text, dialect: text, digest: text }),
  target: fields<Shown['target']>({ kind: oneOf(['main', 'tool', 'script', 'command']), name: text }),
  trust: word,
  banner: flag,
  reasons: listOf(text),
  preview: fields<Shown['preview']>({
    argv: listOf(text),
    template: orNull(text),
    cwd: text,
    env: listOf(text),
    mounts: listOf(fields<Shown['preview']['mounts'][number]>({ at: text, kind: text, writable: flag })),
    network: text,
    limits: mapOf(number),
    runtime: text,
    image: orNull(text),
    dependencies: listOf(fields<Shown['preview']['dependencies'][number]>({ manager: text, lock: orNull(text) })),
    input: text,
    inputBytes: count,
  }),
  warnings: listOf(text),
  change: orNull(fields<NonNullable<Shown['change']>>({ approvedAt: count, digest: text, diff: orNull(diff) })),
  problem: orNull(text),
});

/** Where things lie on the server is not told; the rows that would say so are empty. */
export function toQuestion(told: JsonObject): Question {
  const { skill, preview, ...rest } = readAs(QUESTION, told) as unknown as Question;
  const mounts = preview.mounts.map(mount => ({ ...mount, source: null }));
  return { ...rest, skill: { ...skill, place: 'the registry' }, preview: { ...preview, mounts } };
}
