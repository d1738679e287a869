import {
  CATALOG_TOKENS,
  createLocalDesk,
  createShelf,
  type FunctionFormat,
  type FunctionOptions,
  type Functions,
  functionsOf,
  type LocalDesk,
} from './agent/index.ts';
import type { Skillbox } from './app.ts';
import { packageVersion } from './config/index.ts';
import { watchLocalSkills } from './disclose.ts';
import { discloseOptions, skillboxOptions } from './local.ts';

export type OpenOptions = {
  /** Looked in first; what lies there is vouched for by nobody. */
  dirs?: readonly string[];
  cwd?: string;
  /** Settings are read from here, as the commands read theirs. */
  env?: NodeJS.ProcessEnv;
  /** A driver by name; without it the strongest that is usable. */
  sandbox?: string;
};

/** The Skillbox of this machine, and the skills that are found from here. */
export type LocalSkillbox = Skillbox & { desk: LocalDesk };

/** Opens it as the commands do. Close it when done. */
export async function openSkillbox(options: OpenOptions = {}): Promise<LocalSkillbox> {
  const { dirs = [], cwd = process.cwd(), env = process.env, sandbox = null } = options;
  // Loaded here, so that who only reads skills loads no store and no sandbox.
  const { createSkillbox } = await import('./app.ts');
  const skillbox = await createSkillbox(skillboxOptions({ env, cwd }, sandbox));
  const watched = watchLocalSkills(discloseOptions({ env, cwd }, dirs, packageVersion()), () => undefined);
  const shelf = createShelf(() => watched.current(), { mode: 'Global', catalogTokens: CATALOG_TOKENS });
  const pairs = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const desk = createLocalDesk({ skillbox, shelf, env: Object.fromEntries(pairs), workspaceNames: false });
  return {
    ...skillbox,
    desk,
    async close() {
      watched.close();
      await skillbox.close();
    },
  };
}

/** The tools for a model that calls functions, with a dispatcher: see docs/agents.md. */
export function toolsFor<F extends FunctionFormat>(
  { desk }: Pick<LocalSkillbox, 'desk'>,
  options: FunctionOptions & { format: F },
): Promise<Functions[F]> {
  return functionsOf(desk, options);
}
