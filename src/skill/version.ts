import { isSemver, SkillboxError, visibleLine } from '../base/index.ts';
import type { Skill } from './skill.ts';

/** where the version comes from depends on the dialect; without one it must be given. */
export function versionOf(skill: Skill, given: string | null): string {
  if (given !== null && !isSemver(given)) {
    throw new SkillboxError('USAGE', `the version "${visibleLine(given, 80)}" is not semver`, {
      hint: 'Write three numbers: 1.0.0.',
    });
  }
  if (skill.version !== null && given !== null && given !== skill.version) {
    const own = visibleLine(skill.version, 80);
    throw new SkillboxError('USAGE', `the skill says version ${own}, and ${given} was given`, {
      hint: 'Leave the version out, or write the same in the skill.',
    });
  }
  const version = skill.version ?? given;
  if (version !== null) {
    if (isSemver(version)) return version;
    throw new SkillboxError('VERSION_MISSING', `the version "${visibleLine(version, 80)}" is not semver`, {
      hint: 'Write three numbers: 1.0.0.',
    });
  }
  const place = {
    'agent-skills': 'write it as metadata.version in SKILL.md',
    skillbox: 'write it as version in SKILL.md',
    workspace: 'write it as version in SKILL.md',
    gibberish: 'write it as version in SKILL.md',
    seksbot: 'a seksbot manifest has no place for one',
  }[skill.dialect];
  throw new SkillboxError('VERSION_MISSING', `${visibleLine(skill.name, 80)} has no version`, {
    hint: `Give one with --version 1.0.0; ${place}.`,
  });
}
