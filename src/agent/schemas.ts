import type { JsonObject } from '../base/index.ts';

/** More names than this cost a model more than they tell it: the name is then any text, and `list_skills` finds it. */
export const MAX_NAMED = 1000;

export function object(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false };
}

export function text(description: string): JsonObject {
  return { type: 'string', description };
}

export function integer(description: string): JsonObject {
  return { type: 'integer', description };
}

export const STRING: JsonObject = { type: 'string' };
export const INTEGER: JsonObject = { type: 'integer' };
export const BOOLEAN: JsonObject = { type: 'boolean' };
export const STRINGS: JsonObject = { type: 'array', items: { type: 'string' } };

/** The name of a skill, as an enum of those that there are. */
export function skillName(skills: readonly { name: string }[]): JsonObject {
  const description = 'The name of the skill.';
  if (skills.length === 0 || skills.length > MAX_NAMED) return text(`${description} list_skills finds it.`);
  return { type: 'string', enum: skills.map(({ name }) => name), description };
}

const FILE = object({ path: STRING, size: INTEGER }, ['path', 'size']);
const FILES: JsonObject = { type: 'array', items: FILE };

export const LISTED = object(
  {
    skills: {
      type: 'array',
      items: object(
        { name: STRING, description: STRING, dialect: STRING, location: STRING, trust: STRING, tools: STRINGS },
        ['name', 'description', 'dialect', 'location', 'trust', 'tools'],
      ),
    },
    total: INTEGER,
    left_out: INTEGER,
  },
  ['skills', 'total', 'left_out'],
);

export const ACTIVATED = object(
  {
    name: STRING,
    already_active: BOOLEAN,
    directory: STRING,
    files: FILES,
    files_left_out: INTEGER,
    tokens: INTEGER,
    content: { type: 'string', description: 'Empty when it is active already.' },
    untrusted: BOOLEAN,
  },
  ['name', 'already_active', 'directory', 'files', 'files_left_out', 'tokens', 'content', 'untrusted'],
);

export const RESOURCE = object(
  {
    skill: STRING,
    path: STRING,
    size: INTEGER,
    kind: STRING,
    text: { type: ['string', 'null'], description: 'Null when it is no text, or is not for reading.' },
    untrusted: BOOLEAN,
  },
  ['skill', 'path', 'size', 'kind', 'text', 'untrusted'],
);

export const FILE_READ = object({ path: STRING, bytes: INTEGER, text: STRING }, ['path', 'bytes', 'text']);

export const FILE_WRITTEN = object(
  { path: STRING, bytes: INTEGER, sha256: STRING, created: BOOLEAN, replacements: INTEGER },
  ['path', 'bytes', 'sha256', 'created'],
);

export const RUN = object(
  {
    run_id: STRING,
    skill: STRING,
    target: STRING,
    status: { type: 'string', description: 'waiting, queued, running, success, failed or timeout' },
    success: BOOLEAN,
    exit_code: { type: ['integer', 'null'] },
    output: { description: 'What the skill gave back, as JSON; null when it gave nothing or too much.' },
    stdout: STRING,
    stderr: STRING,
    truncated: { type: 'boolean', description: 'Something was left out; full_log has all of it.' },
    duration_ms: { type: ['integer', 'null'] },
    files: FILES,
    warnings: STRINGS,
    error: { type: ['object', 'null'], properties: { code: STRING, message: STRING } },
    full_log: { type: 'string', description: 'The command that prints everything.' },
    approval: {
      type: ['object', 'null'],
      description: 'Set while a person must answer.',
      properties: { id: STRING, command: STRING, reasons: STRINGS },
    },
    untrusted: BOOLEAN,
  },
  ['run_id', 'skill', 'target', 'status', 'success', 'truncated', 'full_log', 'approval', 'untrusted'],
);
