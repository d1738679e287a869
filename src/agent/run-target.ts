import type { RunRequest } from '../app.ts';
import { type JsonObject, SkillboxError, visibleLine } from '../base/index.ts';
import type { Call } from '../dialects/index.ts';
import type { Folder, Skill } from '../skill/index.ts';

/** What of a skill is called, and with what. */
export type Wanted = {
  target: Call['target'];
  input: JsonObject;
  stdin: string | null;
  timeoutMs: number | null;
};

/** As much of a skill as decides what is called of it. */
export type Runnable = {
  name: string;
  dialect: Skill['dialect'];
  tools: readonly { name: string }[];
  scripts: readonly { path: string }[];
};

const MAX_TIMEOUT_S = 24 * 3600;

/** The arguments of `run_skill`, as the skill's dialect takes them. */
export function wantedBy(skill: Runnable, args: JsonObject): Wanted {
  const input = (args.input ?? {}) as JsonObject; // checked against the schema
  const words = (args.arguments ?? []) as string[];
  const script = typeof args.script === 'string' ? args.script : null;
  const seconds = typeof args.timeout_seconds === 'number' ? args.timeout_seconds : null;
  if (seconds !== null && (seconds < 1 || seconds > MAX_TIMEOUT_S)) {
    throw new SkillboxError('INVALID_CALL', `timeout_seconds is not between 1 and ${MAX_TIMEOUT_S}`);
  }
  return {
    target: targetOf(skill, script, words),
    input,
    stdin: typeof args.stdin === 'string' ? args.stdin : null,
    timeoutMs: seconds === null ? null : seconds * 1000,
  };
}

function targetOf(skill: Runnable, script: string | null, words: string[]): Call['target'] {
  const name = visibleLine(skill.name, 64);
  if (skill.dialect === 'gibberish') {
    throw new SkillboxError('INVALID_CALL', `"${name}" is run by its tools`, {
      hint: `Call one of ${skill.tools.map(tool => tool.name).join(', ')}, as it stands in the list of tools.`,
    });
  }
  if (script !== null) return { kind: 'script', path: inScripts(script), arguments: words };
  if (skill.dialect === 'seksbot' && words.length > 0) return { kind: 'command', argv: words };
  if (skill.dialect === 'skillbox' || skill.dialect === 'seksbot') return { kind: 'main' };
  const [only, second] = skill.scripts;
  if (only !== undefined && second === undefined) return { kind: 'script', path: only.path, arguments: words };
  throw new SkillboxError('INVALID_CALL', only === undefined ? `"${name}" has no script to run` : 'name the script', {
    hint: only === undefined ? 'It has instructions only.' : `It has ${skill.scripts.map(one => one.path).join(', ')}.`,
  });
}

function inScripts(path: string): string {
  const plain = path.replace(/^\.\//, '');
  return plain.startsWith('scripts/') ? plain : `scripts/${plain}`;
}

/** GB-11: what does not work in a folder is given none. */
export function toRequest(
  env: Readonly<Record<string, string>>,
  workspace: string | null,
  skill: Skill,
  folder: Folder,
  { target, input, stdin, timeoutMs }: Wanted,
): RunRequest {
  const works = skill.dialect !== 'skillbox' && skill.dialect !== 'seksbot';
  return {
    skill,
    folder,
    call: { target, input, stdin, mode: 'Global', callerEnv: { ...env } },
    env: {},
    workspace: works ? workspace : null,
    timeoutMs,
  };
}
