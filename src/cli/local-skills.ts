import { SkillboxError, suggest, visibleLine } from '../base/index.ts';
import { type KnownSkill, nameKey } from '../catalog/index.ts';
import { type Disclosed, findLocalSkills, type ScanOptions } from '../disclose.ts';
import { discloseOptions } from '../local.ts';
import type { Option } from './command.ts';
import type { Io } from './io.ts';
import { VERSION } from './version.ts';

export const DIR_OPTION: Option = { help: 'look here first; may be given several times', value: 'DIR', many: true };

/** The skills that this user has in this directory. */
export function localSkills(io: Io, named: readonly string[], scan: ScanOptions = {}): Disclosed {
  return findLocalSkills(discloseOptions(io, named, VERSION), scan);
}

/** The one skill of this name, or an error that says why there is none. */
export function skillByName(name: string, { resolution, discovery, hidden }: Disclosed): KnownSkill {
  const isNamed = (skill: { name: string }) => nameKey(skill.name) === nameKey(name);
  const skill = resolution.skills.find(isNamed);
  const denied = skill === undefined ? null : hidden(skill);
  if (skill !== undefined && denied === null) return skill;
  const untrusted = resolution.untrusted.find(isNamed);
  if (denied !== null) throw new SkillboxError('SKILL_WITHHELD', `"${name}" is not given: ${denied}`);
  if (untrusted !== undefined) {
    const shown = visibleLine(untrusted.realFolder, 400);
    throw new SkillboxError('SKILL_WITHHELD', `"${name}" lies in ${shown}, which nobody vouches for`, {
      hint: `Read it, and if you trust it: skillbox trust add ${shown}`,
    });
  }
  const broken = discovery.broken.find(isNamed);
  if (broken !== undefined) {
    throw new SkillboxError('INVALID_SKILL', `"${name}" does not load: ${broken.fault.message}`);
  }
  const meant = suggest(
    name,
    resolution.skills.map(skill => skill.name),
  );
  const near = meant === null ? '' : `; did you mean ${visibleLine(meant, 64)}?`;
  throw new SkillboxError('NOT_FOUND', `there is no skill "${name}"${near}`, {
    hint: `skillbox catalog why ${visibleLine(name, 64)} says where it was looked for; a path is written with a slash.`,
  });
}
