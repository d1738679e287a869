import { dirname, join } from 'node:path';
import { createSkillbox, type Skillbox } from '../app.ts';
import {
  allowedImages,
  allowsProcess,
  brokerPins,
  bundledDirectories,
  configDirectory,
  dataDirectory,
  dependencySettings,
  dockerSettings,
  masterKeySource,
  ownSkillDirectories,
  runtimeDirectories,
  warmSandboxes,
} from '../config.ts';
import type { Io } from './io.ts';

/** Runs the body with the Skillbox on this machine and closes it, whatever happens. */
export async function withSkillbox<T>(
  io: Io,
  body: (skillbox: Skillbox) => Promise<T>,
  sandbox: string | null = null,
): Promise<T> {
  const skillbox = await createSkillbox({
    dataDirectory: dataDirectory(io.env),
    search: [dirname(process.execPath), ...runtimeDirectories(io.env)],
    sandbox,
    docker: dockerSettings(io.env),
    warm: warmSandboxes(io.env),
    spares: 0,
    allowProcess: allowsProcess(io.env),
    dependencies: dependencySettings(io.env),
    allowedImages: allowedImages(io.env),
    masterKey: masterKeySource(io.env),
    broker: { pins: brokerPins(io.env), roots: [] },
    policy: {
      userPolicy: join(configDirectory(io.env), 'policy.yaml'),
      directory: io.cwd,
      bundled: bundledDirectories(),
      own: ownSkillDirectories(io.env),
    },
  });
  try {
    return await body(skillbox);
  } finally {
    await skillbox.close();
  }
}
