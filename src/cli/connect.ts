import type { Skillbox, SkillboxOptions } from '../app.ts';
import { type Config, loadConfig } from '../config/index.ts';
import { type Drivers, openDrivers } from '../drivers.ts';
import type { SkillSource } from '../install/index.ts';
import { skillboxOptions } from '../local.ts';
import type { Service } from '../service/index.ts';
import type { Input, Option } from './command.ts';
import { takeEarly } from './early-run.ts';
import type { Io } from './io.ts';
import { hurriedBy } from './on-interrupt.ts';
import { openClient, type Server, serverOf } from './on-server.ts';

export const SANDBOX_OPTION: Option = {
  help: 'the sandbox to use instead of the strongest usable',
  value: 'S',
  choices: ['bubblewrap', 'docker', 'process'],
};

/**
 * `soon`: a run follows at once, so its sandbox is begun before everything else is even loaded, unless it has been already. `like`: what
 * such a run is called, for what it was like the last time. `config`: read already, to find out whether a server is meant.
 */
export type Connecting = { sandbox?: string | null; soon?: boolean; like?: string | null; config?: Config };

/** Runs the body with the Skillbox on this machine and closes it, whatever happens. */
export async function withSkillbox<T>(
  io: Io,
  body: (skillbox: Skillbox) => Promise<T>,
  { sandbox = null, soon = false, like = null, config = loadConfig(io) }: Connecting = {},
): Promise<T> {
  const options = skillboxOptions(io, sandbox, config);
  const early = soon ? takeEarly(options) : null;
  const drivers = early ?? openDrivers(options);
  if (soon && early === null) await drivers.begin(like);
  const skillbox = await openSkillbox(options, drivers);
  try {
    return await hurriedBy(
      async () => (await skillbox.killRuns()) > 0,
      () => body(skillbox),
    );
  } finally {
    await skillbox.close();
  }
}

/** The parts of the service that there are in this process so far. */
export type LocalService = Pick<Service, 'skills'>;

/** Runs the body with what the caller can do: on the server that they name, or on this machine. */
export async function withService<T>(input: Input, io: Io, body: (service: LocalService) => Promise<T>): Promise<T> {
  const service = await openService(serverOf(input, io), io);
  try {
    return await body(service);
  } finally {
    await service.close();
  }
}

/** The registry that names with a version are installed from. */
export async function openRegistry(input: Input, io: Io): Promise<SkillSource> {
  const server = serverOf(input, io);
  const service = await openService(server, io);
  return {
    server: server.url,
    resolve: (name, wanted) => service.skills.resolve(name, wanted),
    download: async (name, version) => (await service.skills.download(name, version)).content,
    close: () => service.close(),
  };
}

/** Threat: a page that has us show our key. Only the server that was set up is shown it. */
export function siteKey(at: URL, input: Input, io: Io): string | null {
  const { url, key } = serverOf(input, io);
  return url !== null && new URL(url).origin === at.origin ? key() : null;
}

async function openService({ url, key }: Server, io: Io): Promise<LocalService & { close(): Promise<void> }> {
  if (url !== null) return openClient(url, key(), io.interrupt);
  const options = skillboxOptions(io, null);
  const skillbox = await openSkillbox(options, openDrivers(options));
  return { skills: await skillbox.registry(), close: () => skillbox.close() };
}

/** What was begun ahead is ended when nothing comes of it. */
async function openSkillbox(options: SkillboxOptions, drivers: Drivers): Promise<Skillbox> {
  try {
    const { createSkillbox } = await import('../app.ts');
    return await createSkillbox(options, drivers);
  } catch (error) {
    await Promise.all(drivers.all.map(driver => driver.close()));
    throw error;
  }
}
