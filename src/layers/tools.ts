import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { type RuntimeSpec, resolveProgram } from '../sandbox/index.ts';
import type { Manager } from './manifest.ts';

/** Where interpreters are found. */
export type Programs = {
  search: readonly string[];
  /** A directory of ours where their versions are kept. */
  notes: string;
};

/** A package manager as the host itself would start it. */
export type HostTool = { program: string; prefix: readonly string[] };

const INTERPRETERS: Record<Manager, string> = { pip: 'python3', npm: 'node' };
export const interpreterFor = (manager: Manager): string => INTERPRETERS[manager];

export type RootImage = { name: string; digest: string };
/** `standIn`: the image of the sandbox that a run has in place of this host's interpreters; null where it has these. */
export type Root = { runtime: RuntimeSpec; standIn: RootImage | null };

/** The image that a run has as its root, by its content; null where it has this host's interpreters. */
export function imageOf({ runtime, standIn }: Root): RootImage | null {
  return runtime.kind === 'image' ? runtime : standIn;
}

/**
 * The interpreter that will load the layer, told apart from every other: compiled files fit no other version. The digest of an
 * image is of all its files, so it says the version too.
 */
export async function identify(
  manager: Manager,
  root: Root,
  programs: Programs,
  interpreter: string | null,
): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const image = imageOf(root);
  if (image !== null) return `${interpreter ?? INTERPRETERS[manager]} of the image ${image.digest}, ${platform}`;
  const { used } = await resolveProgram(INTERPRETERS[manager], programs.search, programs.notes);
  return `${used.name} ${used.version} at ${used.path}, ${platform}`;
}

export async function hostTool(manager: Manager, programs: Programs): Promise<HostTool> {
  const program = await realProgram(INTERPRETERS[manager], programs);
  return { program, prefix: manager === 'pip' ? ['-I', '-m', 'pip'] : [await npmCli(programs)] };
}

/** Where this host's npm lies inside, and what must be mounted for it. */
export async function placeNpm(
  programs: Programs,
): Promise<{ cli: string; bind: { source: string; at: string } | null }> {
  const cli = await npmCli(programs);
  if (cli.startsWith('/usr/')) return { cli, bind: null };
  const source = dirname(dirname(cli));
  return { cli: join(NPM_INSIDE, 'bin/npm-cli.js'), bind: { source, at: NPM_INSIDE } };
}

const NPM_INSIDE = '/opt/skillbox/npm';

async function npmCli(programs: Programs): Promise<string> {
  const cli = await realProgram('npm', programs);
  // A wrapper script would start whatever it likes; npm's own file stands in its package.
  if (cli.endsWith('/bin/npm-cli.js') && existsSync(join(cli, '../../package.json'))) return cli;
  throw new SkillboxError('RUNTIME_MISSING', `${cli} is not npm's own program.`, {
    hint: 'Install Node with npm from its official archive, or put that npm first on PATH.',
  });
}

async function realProgram(name: string, { search, notes }: Programs): Promise<string> {
  const { used, mounts } = await resolveProgram(name, search, notes);
  return mounts.find(mount => mount.at === used.path)?.source ?? used.path;
}
