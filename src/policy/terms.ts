import { SHARED } from './defaults.ts';
import { type GuaranteeName, isBelow, type LevelName } from './levels.ts';
import { type Answer, CHANNELS, type Channel } from './policy.ts';
import type { Policies, Policy } from './rules.ts';

/** Which channel may give which answer, and how long "always" lasts. */
export type Terms = { answers: ReadonlyMap<Channel, readonly Answer[]>; alwaysMs: number };

/** The user's file says instead of the shipped terms, channel by channel; a project's can only take away. */
export function termsOf({ user, shipped, projects }: Policies): Terms {
  const answers = CHANNELS.map((channel): [Channel, readonly Answer[]] => {
    const own = user?.approvals.get(channel) ?? shipped.approvals.get(channel) ?? [];
    const left = own.filter(answer =>
      projects.every(({ approvals }) => approvals.get(channel)?.includes(answer) ?? true),
    );
    return [channel, left];
  });
  const lasting = user?.alwaysMs ?? shipped.alwaysMs ?? 0;
  return {
    answers: new Map(answers),
    alwaysMs: projects.reduce((least, { alwaysMs }) => Math.min(least, alwaysMs ?? least), lasting),
  };
}

/**
 * What a sandbox must hold. Whoever asked twice for no isolation is spared what is shipped, not what a file says in so many
 * words. `shared`: others run on the machine too, who do not know one another.
 */
export function requiredLevels(
  { user, shipped, projects }: Policies,
  isolated: boolean,
  shared: boolean,
): ReadonlyMap<GuaranteeName, LevelName> {
  const levels = new Map<GuaranteeName, LevelName>(isolated ? shipped.least : []);
  if (shared) for (const [guarantee, level] of SHARED) levels.set(guarantee, level);
  if (isolated) for (const [guarantee, level] of user?.lowered ?? []) levels.set(guarantee, level);
  for (const policy of [user, ...projects]) raise(levels, policy);
  return levels;
}

function raise(levels: Map<GuaranteeName, LevelName>, policy: Policy | null): void {
  for (const [guarantee, level] of policy?.least ?? []) {
    if (isBelow(levels.get(guarantee) ?? 'none', level)) levels.set(guarantee, level);
  }
}

/** GB-09: any of the files can ask for it. */
export function isStrict({ user, shipped, projects }: Policies): boolean {
  return [user, shipped, ...projects].some(policy => policy?.strict === true);
}
