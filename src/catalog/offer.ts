import type { Mode } from '../skill/index.ts';
import type { KnownSkill } from './resolve.ts';

/** To whom the catalog is shown. */
export type Audience = {
  mode: Mode;
  /** As `process.platform` says it. */
  platform: string;
  /** A reason of the caller's own to hide a skill, such as a denial of the policy; null shows it. */
  hidden: (skill: KnownSkill) => string | null;
};

const MAX_NAME = 256;
const PLATFORMS: Readonly<Record<string, string>> = { macos: 'darwin', osx: 'darwin', windows: 'win32', win: 'win32' };

/** Why models are not told of the skill; null when they are. */
export function hiddenBecause(skill: KnownSkill, { mode, platform, hidden }: Audience): string | null {
  const { offer, name } = skill;
  if (name === '') return 'its name holds nothing that can be seen';
  if (name.length > MAX_NAME) return `its name is longer than ${MAX_NAME} characters`;
  if (!offer.toModels) return 'disable-model-invocation is set';
  // SK-13
  if (!runsOn(offer.os, platform)) return `it is for ${offer.os.join(', ')}, not for ${platform}`;
  // GB-19
  if (!offer.modes.includes('Global') && !offer.modes.includes(mode)) {
    const modes = offer.modes.length === 0 ? 'no known mode' : offer.modes.join(', ');
    return `it is offered in ${modes}, not in ${mode}`;
  }
  return hidden(skill);
}

function runsOn(systems: readonly string[], platform: string): boolean {
  if (systems.length === 0) return true;
  return systems.some(name => (PLATFORMS[name.toLowerCase()] ?? name.toLowerCase()) === platform);
}
