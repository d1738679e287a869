import { SkillboxError } from '../base/index.ts';
import type { Entrypoint, Skill } from '../skill/index.ts';
import type { Call, Invocation, Mount } from './dialect.ts';
import { findScript } from './invoke-script.ts';
import { BASE_ENV, interpreterOf, PATHS, ROOT_BYTES, setIfFits, TMP_BYTES } from './runtime.ts';

/** SB-05/06: the file system and environment that a skillbox entrypoint finds. */
export function invokeMain(skill: Skill, call: Call): Invocation {
  const { entry, args } = entryOf(skill, call);
  const input = JSON.stringify(call.input ?? null);
  const out = `${PATHS.sandbox}/out`;
  const warnings: string[] = [];
  const env: Record<string, string> = {
    ...BASE_ENV,
    HOME: '/root',
    SANDBOX_OUTPUT: `${out}/output.json`,
    SANDBOX_FILES_DIR: `${out}/files/`,
  };
  setIfFits(env, 'SANDBOX_INPUT', input, warnings, `read ${PATHS.sandbox}/input.json`);
  setIfFits(env, 'SKILL_INSTRUCTIONS', skill.instructions, warnings, `read ${PATHS.sandbox}/SKILL.md`);
  return {
    argv: [...entry, ...args],
    cwd: out,
    env,
    stdin: call.stdin,
    mounts: sandboxMounts(input),
    timeoutMs: skill.needs.limits.timeoutMs,
    outputPath: `${out}/output.json`,
    filesPath: `${out}/files`,
    result: 'output-file',
    warnings,
  };
}

function entryOf(skill: Skill, call: Call): { entry: string[]; args: string[] } {
  switch (call.target.kind) {
    case 'main':
      if (skill.main === null) {
        throw new SkillboxError('INVALID_CALL', `${skill.name} has no entrypoint`, {
          hint: 'Add scripts/main.py, main.sh, main.js or run.py.',
        });
      }
      return { entry: run(skill.main), args: [] };
    case 'script':
      return { entry: run(findScript(skill, call.target.path)), args: call.target.arguments };
    case 'command':
      checkCommand(call.target.argv);
      return { entry: call.target.argv, args: [] };
    case 'tool':
      throw new SkillboxError('INVALID_CALL', `${skill.name} has no tool "${call.target.name}"`);
  }
}

/** SK-14: it is the caller's own, and reaches us from a variable that is empty as well. */
function checkCommand(argv: readonly string[]): void {
  if ((argv[0] ?? '') === '')
    throw new SkillboxError('INVALID_CALL', 'the command names no program', { hint: 'Write it after --.' });
  if (argv.some(word => word.includes('\0')))
    throw new SkillboxError('INVALID_CALL', 'an argument holds a NUL character');
}

function run(entry: Entrypoint): string[] {
  return [interpreterOf(entry.language), `${PATHS.sandbox}/${entry.path}`];
}

export function sandboxMounts(input: string): Mount[] {
  return [
    { kind: 'skill', at: PATHS.sandbox },
    { kind: 'text', text: input, at: `${PATHS.sandbox}/input.json` },
    { kind: 'dependencies', manager: 'pip', at: `${PATHS.sandbox}/site-packages` },
    { kind: 'dependencies', manager: 'npm', at: `${PATHS.sandbox}/node_modules` },
    { kind: 'out', at: `${PATHS.sandbox}/out` },
    { kind: 'tmpfs', at: '/tmp', bytes: TMP_BYTES },
    { kind: 'tmpfs', at: '/root', bytes: ROOT_BYTES },
  ];
}
