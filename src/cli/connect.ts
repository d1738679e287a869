import type { Skillbox, SkillboxOptions } from '../app.ts';
import { type Drivers, openDrivers } from '../drivers.ts';
import { skillboxOptions } from '../local.ts';
import type { Option } from './command.ts';
import type { Io } from './io.ts';

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
