import { createSkillbox, type Skillbox } from '../app.ts';
import { skillboxOptions } from '../local.ts';
import type { Io } from './io.ts';

/** Runs the body with the Skillbox on this machine and closes it, whatever happens. */
export async function withSkillbox<T>(
  io: Io,
  body: (skillbox: Skillbox) => Promise<T>,
  sandbox: string | null = null,
): Promise<T> {
  const skillbox = await createSkillbox(skillboxOptions(io, sandbox));
  try {
    return await body(skillbox);
  } finally {
    await skillbox.close();
  }
}
