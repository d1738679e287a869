import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type GivenPath, holdsHome, type RunRequest } from '../app.ts';
import {
  errnoOf,
  isObject,
  isShared,
  type JsonObject,
  type JsonValue,
  parseDuration,
  SkillboxError,
} from '../base/index.ts';
import { type Call, coerceArguments } from '../dialects/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import type { Input } from './command.ts';
import type { Io } from './io.ts';
import { readBounded } from './read-bounded.ts';

/** What must be known of a skill to call it. */
export type Callable = Pick<Skill, 'name' | 'dialect' | 'tools'> & { scripts: readonly { path: string }[] };

/** What the words of `skillbox run` say, wherever it runs. */
export type Called = Pick<RunRequest, 'env' | 'timeoutMs'> & { capabilities: string[]; paths: GivenPath[] } & Pick<
    Call,
    'target' | 'input'
  >;

/** Turns the words of `skillbox run` into a request. */
export async function toRunRequest(skill: Skill, folder: Folder, input: Input, io: Io): Promise<RunRequest> {
  const { target, input: given, ...rest } = await readCall(skill, input, io);
  return {
    skill,
    folder,
    call: { target, input: given, stdin: null, mode: 'Global', callerEnv: toStrings(io.env) },
    workspace: workspaceFor(skill, input.value('workspace'), io.cwd),
    ...rest,
  };
}

export async function readCall(skill: Callable, input: Input, io: Io): Promise<Called> {
  refuseUnused(skill, input);
  const given = await readInput(input.value('input'), io);
  const timeout = input.value('timeout');
  const timeoutMs = timeout === null ? null : parseDuration(timeout);
  if (timeout !== null && timeoutMs === null) {
    throw new SkillboxError('USAGE', `--timeout "${timeout}" is no duration`, { hint: 'Write 30s, 2m or 1h.' });
  }
  const target = toTarget(skill, input, given);
  const env = pairs(input.values('env'), '--env');
  return {
    target,
    input: given ?? {},
    env,
    timeoutMs,
    capabilities: input.values('capability'),
    paths: readPaths(input, io),
  };
}

/** `PATH` is given to be read, `PATH:rw` to be written too. */
function readPaths(input: Input, io: Io): GivenPath[] {
  return input.values('path').map(word => {
    const writable = word.endsWith(':rw');
    const path = writable ? word.slice(0, -3) : word;
    if (path === '') throw new SkillboxError('USAGE', `--path "${word}" names nothing`);
    return { path: resolve(io.cwd, path), writable };
  });
}

/** A word that would change nothing is a mistake that should be told, not a run that surprises. */
function refuseUnused(skill: Callable, input: Input): void {
  const tool = skill.dialect === 'gibberish';
  const script = skill.dialect === 'workspace' || skill.dialect === 'agent-skills';
  const refuse = (what: string, hint: string) => {
    throw new SkillboxError('USAGE', `a ${skill.dialect} skill takes no ${what}`, { hint });
  };
  if (!tool && input.values('param').length > 0)
    refuse('--param', 'Parameters belong to the tools of gibberish skills.');
  if (tool && input.rest.length > 0) refuse('arguments after --', 'Give them as --param NAME=VALUE.');
  if (script && input.value('input') !== null) refuse('--input', 'A script takes its arguments after --.');
  if (!tool && !script && input.value('workspace') !== null)
    refuse('--workspace', 'Its files are what it writes to $SANDBOX_FILES_DIR; see --download.');
}

function toTarget(skill: Callable, input: Input, given: JsonValue | undefined): Call['target'] {
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

function toTool(skill: Callable, name: string | undefined, input: Input, given: JsonValue | undefined): Call['target'] {
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
async function readInput(text: string | null, io: Io): Promise<JsonValue | undefined> {
  if (text === null) return undefined;
  const source =
    text === '-'
      ? await readText('standard input', bound => io.readStdin(bound))
      : text.startsWith('@')
        ? await readFile(resolve(io.cwd, text.slice(1)), io)
        : text;
  if (text === '-' && source.trim() === '') throw new SkillboxError('USAGE', '--input -: standard input is empty');
  try {
    return JSON.parse(source) as JsonValue;
  } catch (cause) {
    throw new SkillboxError('USAGE', `--input is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      hint: `Quote it for the shell: --input '{"text":"a b"}', or name a file: --input @input.json.`,
      cause,
    });
  }
}

const MAX_INPUT_BYTES = 16 * 1024 ** 2;

function readFile(path: string, { interrupt }: Io): Promise<string> {
  return readText(path, bound => readBounded(path, bound, interrupt));
}

async function readText(name: string, read: (maxBytes: number) => Promise<Buffer | null>): Promise<string> {
  const bytes = await read(MAX_INPUT_BYTES).catch((cause: unknown) => {
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('NOT_FOUND', `cannot read ${name} (${errnoOf(cause) ?? String(cause)})`, { cause });
  });
  if (bytes !== null) return decode(bytes, name);
  throw new SkillboxError('USAGE', `${name} has more than ${MAX_INPUT_BYTES} bytes`, {
    hint: 'Give the skill a smaller input, or put the data into its workspace.',
  });
}

/** Strictly: with a stand-in for what cannot be read the skill would work on something else than was given. A byte order mark is dropped. */
function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SkillboxError('USAGE', `${name} is not UTF-8`, {
      hint: 'Convert it first, such as with iconv -f latin1 -t utf-8.',
      cause,
    });
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
export function workspaceFor(skill: Skill, named: string | null, cwd: string): string | null {
  if (named !== null) return resolve(cwd, named);
  const root = skill.dialect === 'gibberish' ? gitRoot(realpathSync(cwd)) : null;
  // A home directory under git (for its dot files) is still the home directory: the tool gets an empty one.
  return root === null || holdsHome(root) ? null : root;
}

function gitRoot(from: string): string | null {
  for (let path = from; ; path = dirname(path)) {
    if (existsSync(join(path, '.git')) && !isShared(path)) return path;
    if (path === dirname(path)) return null;
  }
}

function toStrings(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
}
