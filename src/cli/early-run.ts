import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, type Flags, loadConfig } from '../config/index.ts';
import { type DriverOptions, type Drivers, driverOptions, openDrivers } from '../drivers.ts';
import type { Io } from './io.ts';

let early: { options: DriverOptions; drivers: Drivers } | null = null;
let read: { env: NodeJS.ProcessEnv; config: Config } | null = null;

/** Words that mean another sandbox, another machine, or no run at all. */
const OTHERWISE = /^(-h|--help|--dry-run|--sandbox(=.*)?|--server(=.*)?)$/;

/**
 * Begins the sandbox of a run while the rest of this program is still being loaded; so this is a file of its own, with the rooms
 * that it takes. It is a guess about what the command will ask for; where it is wrong, what was begun is given up. Resolves when
 * the wait is the kernel's alone.
 */
export async function startEarly(words: readonly string[], { env, cwd }: Pick<Io, 'env' | 'cwd'>): Promise<void> {
  const [skill = '-', target = ''] = words;
  if (skill.startsWith('-') || words.some(word => OTHERWISE.test(word))) return;
  try {
    const config = loadConfig({ env });
    read = { env, config };
    if (config.get('client.url') !== null) return;
    const options = driverOptions(config, null);
    // The words may be wrong: whoever mistypes an option before the first run finds nothing made.
    if (!existsSync(options.dataDirectory)) return;
    early = { options, drivers: openDrivers(options) };
    await early.drivers.begin(nameOf(cwd, skill, target.startsWith('-') ? '' : target));
  } catch {
    // Whatever is wrong, the command meets it too, and says it.
  }
}

/** The configuration that was read for it; null where none was, or something else was said since. */
export function earlyConfig(env: NodeJS.ProcessEnv, flags: Flags): Config | null {
  return read?.env === env && Object.keys(flags).length === 0 ? read.config : null;
}

/** What was begun, for the one who uses and closes it; null where nothing was, or something else is wanted. */
export function takeEarly(options: DriverOptions): Drivers | null {
  const taken = early;
  if (taken === null || !isAs(taken.options, options)) return null;
  early = null;
  return taken.drivers;
}

/** Nobody took it: the words were wrong, or meant something else. */
export async function closeEarly(): Promise<void> {
  const left = early;
  early = null;
  await Promise.all(left?.drivers.all.map(driver => driver.close()) ?? []);
}

function isAs(some: DriverOptions, others: DriverOptions): boolean {
  return Object.entries(some).every(
    ([name, value]) => JSON.stringify(value) === JSON.stringify(others[name as keyof DriverOptions]),
  );
}

/** What a run is called as long as nobody knows more of it than the words that ask for it. */
export function nameOf(cwd: string, skill: string, target: string): string {
  return JSON.stringify([resolve(cwd, skill), target]);
}
