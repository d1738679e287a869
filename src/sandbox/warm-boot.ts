import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BASH_BOOT } from './warm-bash.ts';
import { NODE_BOOT } from './warm-node.ts';
import { PYTHON_BOOT } from './warm-python.ts';
import type { Boot } from './warm-shape.ts';

const TEXTS: Record<Exclude<Boot, 'exec'>, { name: string; text: string }> = {
  python: { name: 'boot.py', text: PYTHON_BOOT },
  node: { name: 'boot.cjs', text: NODE_BOOT },
  bash: { name: 'boot.sh', text: BASH_BOOT },
};

/** Inside: out of the way of everything that a spec may mount. */
const PLACE = '/.skillbox/warm';

/** The bootstrap as a file on the host, written once per content, and its path inside. */
export function bootFile(stateDir: string, boot: Exclude<Boot, 'exec'>): { source: string; at: string } {
  const { name, text } = TEXTS[boot];
  const directory = join(stateDir, 'warm');
  const source = join(directory, `${createHash('sha256').update(text).digest('hex').slice(0, 16)}-${name}`);
  if (!existsSync(source)) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const aside = `${source}.${process.pid}`;
    writeFileSync(aside, text, { mode: 0o444 });
    renameSync(aside, source);
  }
  return { source, at: `${PLACE}/${name}` };
}
