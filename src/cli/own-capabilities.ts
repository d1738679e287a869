import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { loadConfig } from '../config/index.ts';
import type { Io } from './io.ts';

/** The capabilities of the operator's own providers on this machine. The runtime is loaded only where there are some. */
export async function ownCapabilities(io: Io): Promise<string[]> {
  const config = loadConfig(io);
  try {
    const data = config.get('data.directory');
    if (!existsSync(join(data, 'providers'))) return [];
    const { readOwnCapabilities } = await import('../app.ts');
    return readOwnCapabilities(data);
  } catch (error) {
    if (!(error instanceof SkillboxError)) throw error;
    // The data is the operator's, the skill is not at fault for it: its capabilities are just not known here.
    io.err(`${io.paint('yellow', 'note')}: ${error.message}\n`);
    return [];
  }
}
