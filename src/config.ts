import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SkillboxError } from './base/index.ts';

/** Where Skillbox keeps what it must remember: runs, snapshots, blobs, layers. */
export function dataDirectory(env: NodeJS.ProcessEnv): string {
  return chosen(env, 'SKILLBOX_DATA_DIR', 'XDG_DATA_HOME', '.local/share');
}

/** Where the user writes what Skillbox is to hold to. */
export function configDirectory(env: NodeJS.ProcessEnv): string {
  return chosen(env, 'SKILLBOX_CONFIG_DIR', 'XDG_CONFIG_HOME', '.config');
}

/** GB-17: directories that hold the user's own skills, here and for other agents. */
export function ownSkillDirectories(env: NodeJS.ProcessEnv): string[] {
  return ['.skillbox/skills', '.agents/skills', '.claude/skills', '.config/gibberish/skills'].map(path =>
    join(homeOf(env), path),
  );
}

/** Further directories to look for skills in, stronger than a project's (SK-12). */
export function configuredSkillDirectories(env: NodeJS.ProcessEnv): string[] {
  const given = (env.SKILLBOX_SKILL_DIRS ?? '').split(delimiter).filter(path => path !== '');
  const relative = given.find(path => !isAbsolute(path));
  if (relative === undefined) return given;
  throw new SkillboxError('USAGE', `SKILLBOX_SKILL_DIRS holds "${relative}", which is not an absolute path`);
}

/** The names of skills that stand first in every catalog. */
export function pinnedSkills(env: NodeJS.ProcessEnv): string[] {
  return (env.SKILLBOX_PINNED ?? '').split(/[\s,]+/).filter(name => name !== '');
}

/** What ships with Skillbox: found beside our own code, never by a setting. */
export function bundledDirectories(): string[] {
  const own = ownPackage();
  return own === null ? [] : [join(own.root, 'examples')];
}

/** The version of the package that this code lies in. */
export function packageVersion(): string {
  return ownPackage()?.version ?? '0.0.0-dev';
}

function ownPackage(): { root: string; version: string } | null {
  // From src, and from dist/lib and dist/cli.
  for (const place of ['../', '../../']) {
    const root = fileURLToPath(new URL(place, import.meta.url));
    const found = readPackage(root);
    if (found?.name === 'skillbox') return { root, version: found.version ?? '0.0.0-dev' };
  }
  return null;
}

function readPackage(root: string): { name?: string; version?: string } | null {
  try {
    return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name?: string; version?: string };
  } catch {
    return null; // not the root of a package
  }
}

/** The user's home directory. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.HOME !== undefined && isAbsolute(env.HOME) ? env.HOME : homedir();
}

/** SB-03: the images that skills may run in; null without a list: the default ones, and what was imported. */
export function allowedImages(env: NodeJS.ProcessEnv): string[] | null {
  const list = env.SKILLBOX_IMAGES;
  // Set and empty is a list too, one that allows nothing.
  return list === undefined
    ? null
    : list
        .split(',')
        .map(name => name.trim())
        .filter(name => name !== '');
}

function chosen(env: NodeJS.ProcessEnv, own: string, xdg: string, fallback: string): string {
  const given = env[own];
  if (given !== undefined && given !== '') {
    if (isAbsolute(given)) return given;
    throw new SkillboxError('USAGE', `${own} is "${given}", which is not an absolute path`);
  }
  // The XDG specification says that a relative path is to be ignored.
  const base = env[xdg];
  return join(base !== undefined && isAbsolute(base) ? base : join(homeOf(env), fallback), 'skillbox');
}

/** The Docker or Podman engine to use where bubblewrap cannot be. */
export function dockerSettings(env: NodeJS.ProcessEnv): {
  socket: string;
  defaultImage: string;
  runtime: string | null;
} {
  const host = env.SKILLBOX_DOCKER_SOCKET ?? env.DOCKER_HOST?.replace(/^unix:\/\//, '');
  return {
    socket: host !== undefined && isAbsolute(host) ? host : '/var/run/docker.sock',
    defaultImage: env.SKILLBOX_DOCKER_IMAGE || 'skillbox-runner',
    runtime: env.SKILLBOX_DOCKER_RUNTIME || null,
  };
}

/** Only the literal `yes`: a setting that takes isolation away must not be switched on by accident. */
export function allowsProcess(env: NodeJS.ProcessEnv): boolean {
  return env.SKILLBOX_ALLOW_UNISOLATED === 'yes';
}

/**
 * Where packages come from: what is not set is left to pip's and npm's own configuration on this host. Source packages and
 * install scripts run a stranger's code while a layer is built; each is a word of its own.
 */
export function dependencySettings(env: NodeJS.ProcessEnv): {
  indexes: { pip: string | null; npm: string | null; hosts: string[] };
  allow: { sources: boolean; scripts: boolean };
} {
  return {
    indexes: {
      pip: env.SKILLBOX_PIP_INDEX_URL || null,
      npm: env.SKILLBOX_NPM_REGISTRY || null,
      hosts: (env.SKILLBOX_INDEX_HOSTS ?? '').split(/[\s,]+/).filter(host => host !== ''),
    },
    allow: {
      sources: env.SKILLBOX_ALLOW_SOURCE_PACKAGES === 'yes',
      scripts: env.SKILLBOX_ALLOW_INSTALL_SCRIPTS === 'yes',
    },
  };
}

/**
 * Where interpreters are looked for before the system's own directories. Not PATH: what is found here is started to ask for
 * its version, and a project may have put something on PATH.
 */
export function runtimeDirectories(env: NodeJS.ProcessEnv): string[] {
  return (env.SKILLBOX_RUNTIME_PATH ?? '').split(':').filter(isAbsolute);
}

/** How many sandboxes are held ready. A command that ends after one run gains nothing by it, so none unless asked for. */
export function warmSandboxes(env: NodeJS.ProcessEnv): number {
  const text = env.SKILLBOX_WARM ?? '';
  if (text === '') return 0;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0 && count <= 64) return count;
  throw new SkillboxError('USAGE', `SKILLBOX_WARM is "${text}", not a number from 0 to 64`);
}

/** Where the master key of the vault comes from: the operator's own by value or by file, or a file beside the store. */
export function masterKeySource(
  env: NodeJS.ProcessEnv,
): { kind: 'own'; path: string } | { kind: 'file'; path: string } | { kind: 'text'; text: string; from: string } {
  const text = env.SKILLBOX_MASTER_KEY ?? '';
  const path = env.SKILLBOX_MASTER_KEY_FILE ?? '';
  if (text !== '' && path !== '') {
    throw new SkillboxError('USAGE', 'SKILLBOX_MASTER_KEY and SKILLBOX_MASTER_KEY_FILE are both set', {
      hint: 'Set one of them.',
    });
  }
  if (text !== '') return { kind: 'text', text, from: 'SKILLBOX_MASTER_KEY' };
  if (path === '') return { kind: 'own', path: join(dataDirectory(env), 'master.key') };
  if (isAbsolute(path)) return { kind: 'file', path };
  throw new SkillboxError('USAGE', `SKILLBOX_MASTER_KEY_FILE is "${path}", which is not an absolute path`);
}

/**
 * Hosts that are found elsewhere than DNS says, such as a gateway of one's own: `host:port=address:port`, with commas between.
 * The address may be a private one, since the operator names it; the host's certificate must still be the host's.
 */
export function brokerPins(env: NodeJS.ProcessEnv): { host: string; port: number; address: string; toPort: number }[] {
  const entries = (env.SKILLBOX_BROKER_PINS ?? '').split(/[\s,]+/).filter(entry => entry !== '');
  return entries.map(entry => {
    const match = /^([a-z0-9._-]+):(\d{1,5})=([0-9a-f.:]+|\[[0-9a-f:]+\]):(\d{1,5})$/i.exec(entry);
    const [, host = '', port, address = '', toPort] = match ?? [];
    const bare = address.replace(/^\[|\]$/g, '');
    if (match === null || isIP(bare) === 0)
      throw new SkillboxError('USAGE', `SKILLBOX_BROKER_PINS holds "${entry}", not host:port=address:port`);
    return { host: host.toLowerCase(), port: Number(port), address: bare, toPort: Number(toPort) };
  });
}

/**
 * Keys of MCP servers that skills are installed from: `host=KEY` or `host:port=KEY`, with commas between. A key goes to its own
 * host only, so a lock that names another one learns nothing.
 */
export function mcpKeys(env: NodeJS.ProcessEnv): Map<string, string> {
  const entries = (env.SKILLBOX_MCP_KEYS ?? '').split(/[\s,]+/).filter(entry => entry !== '');
  return new Map(
    entries.map((entry): [string, string] => {
      const [, host = '', key = ''] =
        /^([a-z0-9._-]+(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?)=(\S+)$/i.exec(entry) ?? [];
      // The entry holds a secret, so it is not repeated.
      if (key === '') throw new SkillboxError('USAGE', 'SKILLBOX_MCP_KEYS holds an entry that is not host=KEY');
      return [host.toLowerCase(), key];
    }),
  );
}
