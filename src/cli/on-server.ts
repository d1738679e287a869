import { type Config, loadConfig, type SettingName } from '../config/index.ts';
import type { Service } from '../service/index.ts';
import type { Command, Input, Option } from './command.ts';
import { earlyConfig } from './early-run.ts';
import { whenInterrupted } from './interrupted.ts';
import type { Io } from './io.ts';
import { settingFlags, settingOptions } from './setting-options.ts';

const SERVER_SETTINGS: readonly SettingName[] = ['client.url'];

/** For commands that work with a server as they do with this machine. */
export const SERVER_OPTION: Readonly<Record<string, Option>> = settingOptions(SERVER_SETTINGS);

/** What a command does with a server. */
export type OnServer = (service: Service, input: Input, io: Io) => Promise<number>;

/**
 * The command on this machine, or on the server that is named; what it takes to do it there is loaded only then. `patient`: it
 * has something left to do when it is interrupted.
 */
export function orOnServer(
  here: (input: Input, io: Io, config: Config) => Promise<number>,
  there: () => Promise<OnServer>,
  { patient = false } = {},
): Command['run'] {
  return async (input, io) => {
    const { config, url, key } = serverOf(input, io);
    if (url === null) return here(input, io, config);
    const [act, service] = await Promise.all([there(), openClient(url, key(), patient ? null : io.interrupt)]);
    try {
      return await act(service, input, io);
    } finally {
      await service.close();
    }
  };
}

/** A server that was named, and what opens it. */
export type Server = { config: Config; url: string | null; key: () => string | null };

/** The server that is named by a flag, the environment or the configuration; without one, this machine is meant. */
export function serverOf(input: Input, io: Io): Server {
  const flags = settingFlags(SERVER_SETTINGS, input);
  const config = earlyConfig(io.env, flags) ?? loadConfig({ env: io.env, flags });
  const url = config.get('client.url');
  return { config, url: url === null ? null : new URL(url).href, key: () => config.get('client.key')?.read() ?? null };
}

/** `signal` ends what is under way; null for a command that sees to that itself. */
export async function openClient(url: string, key: string | null, signal: AbortSignal | null): Promise<Service> {
  const { createClient } = await import('../client/index.ts');
  return createClient({ url, key, ...(signal === null ? {} : { signal: whenInterrupted(signal) }) });
}
