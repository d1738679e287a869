import { join } from 'node:path';
import type { SkillboxOptions } from './app.ts';
import {
  bundledDirectories,
  type Config,
  configDirectory,
  findHome,
  loadConfig,
  ownSkillDirectories,
} from './config/index.ts';
import type { DiscloseOptions } from './disclose.ts';
import { driverOptions } from './drivers.ts';
import { storeChoice } from './stores.ts';

/** Where somebody stands: what the environment and a directory say, for both halves of the wiring. */
export type Place = { env: NodeJS.ProcessEnv; cwd: string };

/** The Skillbox of this machine. `sandbox`: what the caller wants instead of what the configuration says. */
export function skillboxOptions(
  place: Place,
  sandbox: string | null,
  config: Config = loadConfig(place),
): SkillboxOptions {
  return {
    ...driverOptions(config, sandbox),
    dependencies: dependencyOptions(config),
    allowedImages: config.get('images.allowed'),
    masterKey: masterKeyOf(config),
    broker: { pins: [...config.get('broker.pins')], roots: [] },
    policy: policyOptions(place),
    store: storeChoice(config),
  };
}

/** The skills that this user has in this directory. */
export function discloseOptions(
  place: Place,
  named: readonly string[],
  version: string,
  config: Config = loadConfig(place),
): DiscloseOptions {
  return {
    places: {
      cwd: place.cwd,
      home: findHome(place.env),
      named,
      configured: config.get('skills.directories'),
      bundled: bundledDirectories(),
    },
    dataDirectory: config.get('data.directory'),
    version,
    policy: policyOptions(place),
  };
}

/** Where packages come from: what is not set is left to pip's and npm's own configuration on this host. */
export function dependencyOptions(config: Config): SkillboxOptions['dependencies'] {
  return {
    indexes: {
      pip: config.get('dependencies.pipIndex'),
      npm: config.get('dependencies.npmRegistry'),
      hosts: [...config.get('dependencies.hosts')],
    },
    allow: {
      sources: config.get('dependencies.allowSources'),
      scripts: config.get('dependencies.allowScripts'),
    },
  };
}

/** The operator's own by value or by file, one in the keyring, or a file beside the store. A file is left to the vault, which guards it itself. */
function masterKeyOf(config: Config): SkillboxOptions['masterKey'] {
  const given = config.get('secrets.masterKey');
  if (config.get('secrets.keyring')) return { kind: 'keyring' };
  if (given === null) return { kind: 'own', path: join(config.get('data.directory'), 'master.key') };
  if (given.source.kind === 'file') return given.source;
  return { kind: 'text', text: given.read(), from: given.source.from };
}

function policyOptions({ env, cwd }: Place): DiscloseOptions['policy'] {
  const own = configDirectory(env);
  return {
    userPolicy: own === null ? null : join(own, 'policy.yaml'),
    directory: cwd,
    bundled: bundledDirectories(),
    own: ownSkillDirectories(env),
  };
}
