import type { Skillbox, SkillboxOptions } from '../app.ts';
import { loadConfig, type SettingName } from '../config/index.ts';
import { type Drivers, openDrivers } from '../drivers.ts';
import type { SkillSource } from '../install/index.ts';
import { skillboxOptions } from '../local.ts';
import type { Service } from '../service/index.ts';
import type { Input, Option } from './command.ts';
import type { Io } from './io.ts';
import { settingFlags, settingOptions } from './setting-options.ts';

export const SANDBOX_OPTION: Option = {
  help: 'the sandbox to use instead of the strongest usable',
  value: 'S',
  choices: ['bubblewrap', 'docker', 'process'],
};

/** `soon`: a run follows at once, so its sandbox is begun before everything else is even loaded. */
export type Connecting = { sandbox?: string | null; soon?: boolean };

/** Runs the body with the Skillbox on this machine and closes it, whatever happens. */
export async function withSkillbox<T>(
  io: Io,
  body: (skillbox: Skillbox) => Promise<T>,
  { sandbox = null, soon = false }: Connecting = {},
): Promise<T> {
  const options = skillboxOptions(io, sandbox);
  const drivers = openDrivers(options);
  if (soon) await drivers.begin();
  const skillbox = await openSkillbox(options, drivers);
  try {
    return await body(skillbox);
  } finally {
    await skillbox.close();
  }
}

const SERVER_SETTINGS: readonly SettingName[] = ['client.url'];

/** For commands that work with a server as they do with this machine. */
export const SERVER_OPTION: Readonly<Record<string, Option>> = settingOptions(SERVER_SETTINGS);

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

type Server = { url: string | null; key: () => string | null };

function serverOf(input: Input, io: Io): Server {
  const config = loadConfig({ env: io.env, flags: settingFlags(SERVER_SETTINGS, input) });
  const url = config.get('client.url');
  return { url: url === null ? null : new URL(url).href, key: () => config.get('client.key')?.read() ?? null };
}

async function openService({ url, key }: Server, io: Io): Promise<LocalService & { close(): Promise<void> }> {
  if (url !== null) {
    const { createClient } = await import('../client/index.ts');
    return createClient({ url, key: key(), signal: io.interrupt });
  }
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
