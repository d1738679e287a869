import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { RunRequest } from '../app.ts';
import { isObject, type JsonObject, type JsonValue, parseDuration, SkillboxError } from '../base/index.ts';
import { type Call, coerceArguments } from '../dialects/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import type { Input } from './command.ts';
import type { Io } from './io.ts';

/** Turns the words of `skillbox run` into a request. */
export function toRunRequest(skill: Skill, folder: Folder, input: Input, io: Io): RunRequest {
  const given = readInput(input.value('input'), io);
  const timeout = input.value('timeout');
  const timeoutMs = timeout === null ? null : parseDuration(timeout);
  if (timeout !== null && timeoutMs === null) {
    throw new SkillboxError('USAGE', `--timeout "${timeout}" is no duration`, { hint: 'Write 30s, 2m or 1h.' });
  }
  return {
    skill,
    folder,
    call: {
      target: toTarget(skill, input, given),
      input: given ?? {},
      stdin: null,
      mode: 'Global',
      callerEnv: toStrings(io.env),
    },
    env: pairs(input.values('env'), '--env'),
    workspace: workspaceFor(skill, input.value('workspace'), io.cwd),
    timeoutMs,
  };
}

function toTarget(skill: Skill, input: Input, given: JsonValue | undefined): Call['target'] {
  const [, name] = input.args;
  if (skill.dialect === 'gibberish') return toTool(skill, name, input, given);
  if (name !== undefined) return { kind: 'script', path: name, arguments: input.rest };
  if (skill.dialect === 'seksbot' && input.rest.length > 0) return { kind: 'command', argv: input.rest };
  if (skill.dialect === 'skillbox' || skill.dialect === 'seksbot') {
    if (input.rest.length > 0)
      throw new SkillboxError('USAGE', 'an entrypoint takes its input by --input, not after --');
    return { kind: 'main' };
  }
  const [only, second] = skill.scripts;
  if (only !== undefined && second === undefined) return { kind: 'script', path: only.path, arguments: input.rest };
  throw new SkillboxError(
    'USAGE',
    only === undefined ? `${skill.name} has no script to run` : 'name the script to run',
    {
      hint:
        only === undefined
          ? 'It has instructions only.'
          : `It has ${skill.scripts.map(script => script.path).join(', ')}.`,
    },
  );
}

function toTool(skill: Skill, name: string | undefined, input: Input, given: JsonValue | undefined): Call['target'] {
  const tool =
    name === undefined && skill.tools.length === 1 ? skill.tools[0] : skill.tools.find(each => each.name === name);
  if (tool === undefined) {
    throw new SkillboxError(
      'USAGE',
      name === undefined ? 'name the tool to run' : `${skill.name} has no tool "${name}"`,
      {
        hint: `It has ${skill.tools.map(each => each.name).join(', ')}.`,
      },
    );
  }
  if (given !== undefined && !isObject(given)) {
    throw new SkillboxError('USAGE', 'the input of a tool is a JSON object with its arguments');
  }
  const text = new Map<string, string[]>();
  for (const param of input.values('param')) {
    const [key, value] = cut(param, '--param');
    text.set(key, [...(text.get(key) ?? []), value]);
  }
  const words = Object.fromEntries(
    [...text].map(([key, values]) => [key, values.length === 1 ? (values[0] ?? '') : values]),
  );
  const args: JsonObject = { ...given, ...coerceArguments(tool, words) };
  return { kind: 'tool', name: tool.name, arguments: args };
}

/** JSON as it stands, `@FILE`, or `-` for standard input; undefined when not given. */
function readInput(text: string | null, io: Io): JsonValue | undefined {
  if (text === null) return undefined;
  const source =
    text === '-' ? readFileSync(0, 'utf8') : text.startsWith('@') ? readFile(resolve(io.cwd, text.slice(1))) : text;
  try {
    return JSON.parse(source) as JsonValue;
  } catch (cause) {
    throw new SkillboxError('USAGE', `--input is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      hint: `Quote it for the shell: --input '{"text":"a b"}', or name a file: --input @input.json.`,
      cause,
    });
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new SkillboxError('NOT_FOUND', `cannot read ${path}`, { cause });
  }
}

function pairs(words: readonly string[], option: string): Record<string, string> {
  return Object.fromEntries(words.map(word => cut(word, option)));
}

function cut(word: string, option: string): [string, string] {
  const at = word.indexOf('=');
  if (at <= 0) throw new SkillboxError('USAGE', `${option} "${word}" is not NAME=VALUE`);
  return [word.slice(0, at), word.slice(at + 1)];
}

/** GB-11: a gibberish tool works in the repository that holds the caller; every other workspace is named by the caller. */
function workspaceFor(skill: Skill, named: string | null, cwd: string): string | null {
  if (named !== null) {
    const path = resolve(cwd, named);
    if (!existsSync(path)) throw new SkillboxError('NOT_FOUND', `there is no workspace ${named}`);
    return path;
  }
  return skill.dialect === 'gibberish' ? gitRoot(cwd) : null;
}

function gitRoot(from: string): string | null {
  for (let path = from; ; path = dirname(path)) {
    if (existsSync(join(path, '.git'))) return path;
    if (path === dirname(path)) return null;
  }
}

function toStrings(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
}
