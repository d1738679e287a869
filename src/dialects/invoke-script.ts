import { SkillboxError } from '../base/index.ts';
import type { Script, Skill } from '../skill/index.ts';
import type { Call, Invocation, Mount } from './dialect.ts';
import { BASE_ENV, interpreterOf, PATHS, ROOT_BYTES, TMP_BYTES } from './runtime.ts';

/** WS-03: a bundled script, run by its extension in the workspace, with its arguments as they are. */
export function invokeScript(skill: Skill, call: Call): Invocation {
  if (call.target.kind !== 'script') {
    throw new SkillboxError('INVALID_CALL', `${skill.name} has no entrypoint of its own`, {
      hint: skill.scripts.length === 0 ? 'It has instructions only.' : `Name a script: ${names(skill)}`,
    });
  }
  return scriptInvocation(skill, findScript(skill, call.target.path), call.target.arguments, call);
}

export function findScript(skill: Skill, path: string): Script {
  const script = skill.scripts.find(found => found.path === path || found.path === `scripts/${path}`);
  if (script !== undefined) return script;
  throw new SkillboxError('INVALID_CALL', `${skill.name} has no script "${path}"`, {
    hint: skill.scripts.length === 0 ? 'It has no scripts.' : `It has ${names(skill)}`,
  });
}

export function scriptInvocation(skill: Skill, script: Script, args: string[], call: Call): Invocation {
  const bad = args.find(argument => argument.includes('\0'));
  if (bad !== undefined) throw new SkillboxError('INVALID_CALL', 'an argument holds a NUL character');
  const mounts: Mount[] = [
    { kind: 'skill', at: PATHS.skill },
    { kind: 'workspace', at: PATHS.workspace, writable: true },
    { kind: 'dependencies', manager: 'pip', at: PATHS.sitePackages },
    { kind: 'dependencies', manager: 'npm', at: `${PATHS.skill}/node_modules` },
    { kind: 'tmpfs', at: '/tmp', bytes: TMP_BYTES },
    { kind: 'tmpfs', at: PATHS.home, bytes: ROOT_BYTES },
  ];
  let path = `${PATHS.skill}/${script.path}`;
  if (script.language === 'typescript') {
    path = `${PATHS.compiled}/${script.path.replace(/\.ts$/i, '.mjs')}`;
    // Node looks for packages upwards from the file, which no longer lies in the skill.
    mounts.push(
      { kind: 'dependencies', manager: 'npm', at: `${PATHS.compiled}/node_modules` },
      { kind: 'compiled', path: script.path, at: path },
    );
  }
  return {
    argv: [interpreterOf(script.language), path, ...args],
    cwd: PATHS.workspace,
    env: {
      ...BASE_ENV,
      HOME: PATHS.home,
      SKILL_NAME: skill.name,
      SKILL_DIR: PATHS.skill,
      WORKSPACE_DIR: PATHS.workspace,
    },
    stdin: call.stdin,
    mounts,
    timeoutMs: skill.needs.limits.timeoutMs,
    outputPath: null,
    filesPath: null,
    result: 'streams',
    warnings: [],
  };
}

function names(skill: Skill): string {
  const shown = skill.scripts.slice(0, 8).map(script => script.path);
  return shown.join(', ') + (skill.scripts.length > shown.length ? ', …' : '');
}
