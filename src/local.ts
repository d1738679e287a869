import { dirname, join } from 'node:path';
import type { SkillboxOptions } from './app.ts';
import {
  allowedImages,
  allowsProcess,
  brokerPins,
  bundledDirectories,
  configDirectory,
  configuredSkillDirectories,
  dataDirectory,
  dependencySettings,
  dockerSettings,
  homeOf,
  masterKeySource,
  ownSkillDirectories,
  runtimeDirectories,
  warmSandboxes,
} from './config.ts';
import type { DiscloseOptions } from './disclose.ts';

/** What the environment and a directory say, for both halves of the wiring. */
export type Place = { env: NodeJS.ProcessEnv; cwd: string };

/** The Skillbox of this machine. */
export function skillboxOptions({ env, cwd }: Place, sandbox: string | null): SkillboxOptions {
  return {
    dataDirectory: dataDirectory(env),
    search: [dirname(process.execPath), ...runtimeDirectories(env)],
    sandbox,
    docker: dockerSettings(env),
    warm: warmSandboxes(env),
    spares: 0,
    allowProcess: allowsProcess(env),
    dependencies: dependencySettings(env),
    allowedImages: allowedImages(env),
    masterKey: masterKeySource(env),
    broker: { pins: brokerPins(env), roots: [] },
    policy: policyOptions({ env, cwd }),
  };
}

/** The skills that this user has in this directory. */
export function discloseOptions({ env, cwd }: Place, named: readonly string[], version: string): DiscloseOptions {
  return {
    places: {
      cwd,
      home: homeOf(env),
      named,
      configured: configuredSkillDirectories(env),
      bundled: bundledDirectories(),
    },
    dataDirectory: dataDirectory(env),
    version,
    policy: policyOptions({ env, cwd }),
  };
}

function policyOptions({ env, cwd }: Place): DiscloseOptions['policy'] {
  return {
    userPolicy: join(configDirectory(env), 'policy.yaml'),
    directory: cwd,
    bundled: bundledDirectories(),
    own: ownSkillDirectories(env),
  };
}
