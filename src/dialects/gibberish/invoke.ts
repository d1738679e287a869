import { SkillboxError, suggest, visible } from '../../base/index.ts';
import type { Mode, Skill, Tool } from '../../skill/index.ts';
import type { Call, Invocation } from '../dialect.ts';
import { BASE_ENV, PATHS, ROOT_BYTES, TMP_BYTES } from '../runtime.ts';
import { dashedSlots, interpolate } from './interpolate.ts';
import { programPath } from './program.ts';
import { readModifier } from './values.ts';

/** GB-10 to GB-14: one command, in the workspace, without a shell. */
export function invokeTool(skill: Skill, call: Call): Invocation {
  if (call.target.kind !== 'tool') {
    throw new SkillboxError('INVALID_CALL', `${skill.name} is run by one of its tools`, { hint: listTools(skill) });
  }
  const { target } = call;
  const tool = findTool(skill, target.name);
  const { argv } = interpolate(tool, target.arguments);
  const [program = '', ...args] = argv;
  const path = programPath(program);
  if (path === null) {
    throw new SkillboxError('INVALID_SKILL', `tool "${tool.name}" runs ${program}, which is not inside the skill`);
  }
  return {
    argv: [path, ...args],
    cwd: PATHS.workspace,
    env: toolEnv(skill, call.mode, call.callerEnv),
    stdin: call.stdin,
    mounts: [
      { kind: 'skill', at: PATHS.skill },
      { kind: 'workspace', at: PATHS.workspace, writable: !skill.needs.readOnly },
      { kind: 'dependencies', manager: 'npm', at: `${PATHS.skill}/node_modules` },
      { kind: 'tmpfs', at: '/tmp', bytes: TMP_BYTES },
      { kind: 'tmpfs', at: PATHS.home, bytes: ROOT_BYTES },
    ],
    timeoutMs: skill.needs.limits.timeoutMs,
    outputPath: null,
    filesPath: null,
    result: 'envelope',
    warnings: dashedSlots(tool, target.arguments).map(
      slot => `the value of "${slot.parameter}" begins with "-" and may be read as an option`,
    ),
  };
}

function findTool(skill: Skill, name: string): Tool {
  const tool = skill.tools.find(candidate => candidate.name === name);
  if (tool !== undefined) return tool;
  const names = skill.tools.map(candidate => candidate.name);
  const meant = suggest(name, names);
  const hint = meant === null ? listTools(skill) : `Did you mean ${meant}?`;
  throw new SkillboxError('INVALID_CALL', `${skill.name} has no tool "${name}"`, { hint });
}

function listTools(skill: Skill): string {
  return skill.tools.length === 0 ? 'It has no tools.' : `Its tools: ${skill.tools.map(tool => tool.name).join(', ')}.`;
}

const INHERITED = /^(?:LANG|LC_[A-Z_]+|TERM)$/;
// Refused even where a name looks inherited, as LC_API_KEY does.
const BLOCKED = /(?:_TOKEN|_KEY|_SECRET)$|^(?:GITHUB_TOKEN$|AWS_|OPENAI_|ANTHROPIC_)/i;

/**
 * GB-12. PATH, HOME and USER are the sandbox's own: the caller's would name places that do not exist in there, and a
 * PATH chosen outside would choose the program.
 */
function toolEnv(skill: Skill, mode: Mode, callerEnv: Readonly<Record<string, string>>): Record<string, string> {
  const inherited = Object.entries(callerEnv).filter(
    ([name, value]) => INHERITED.test(name) && !BLOCKED.test(name) && !value.includes('\0'),
  );
  return {
    ...BASE_ENV,
    ...Object.fromEntries(inherited),
    HOME: PATHS.home,
    USER: 'skill',
    GIBBERISH_SKILL_NAME: skill.name,
    GIBBERISH_SKILL_DIR: PATHS.skill,
    GIBBERISH_MODE: mode,
  };
}

/** GB-18: the command as a person reads it before allowing it. `[…]` marks what is left out when it is not given. */
export function renderPreview(tool: Tool): string {
  const parameters = new Map(tool.parameters.map(parameter => [parameter.name, parameter]));
  const words = tool.command.map(token => {
    let optional = false;
    let plain = true;
    const texts = token.pieces.map(piece => {
      if (piece.kind === 'text') {
        plain &&= !/[\s'"\\<>[\]$|;`]/.test(piece.text);
        return shown(piece.text).replace(/'/g, `'\\''`);
      }
      const parameter = parameters.get(piece.name);
      const modifier = readModifier(piece.modifier, parameter?.type ?? 'string');
      const stays = parameter?.required === true || (parameter?.default ?? null) !== null;
      if (modifier.kind === 'switch' || !(stays || modifier.kind === 'default')) optional = true;
      if (modifier.kind === 'switch') return shown(modifier.text);
      return modifier.kind === 'flag' ? `${shown(modifier.text)} <${piece.name}>` : `<${piece.name}>`;
    });
    const word = plain && texts.length > 0 ? texts.join('') : `'${texts.join('')}'`;
    return optional ? `[${word}]` : word;
  });
  return words.join(' ');
}

/** A command is shown on one line and cannot move the cursor of the terminal it is shown on. */
function shown(text: string): string {
  return visible(text).replace(/\n/g, '<U+000A>').replace(/\t/g, '<U+0009>');
}
