import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type JsonValue } from '../base/index.ts';
import { newId, thisOwner } from './owner.ts';
import { makePrivate } from './state.ts';
import type { Shape } from './warm-shape.ts';

/** So many are kept; the one that was written first goes first. */
const MAX_KEPT = 64;

/**
 * What a run of this name was like the last time, so that its sandbox can be begun before it is known what the run is. A guess:
 * whoever uses it compares its key with that of the run, and what is wrong with it means no more than that there is none.
 */
export function recallShape(stateDir: string, name: string): Shape | null {
  try {
    const kept = JSON.parse(readFileSync(pathOf(stateDir, name), 'utf8')) as JsonValue;
    return isObject(kept) && typeof kept.key === 'string' && kept.slots !== undefined
      ? (kept as Shape & JsonValue)
      : null;
  } catch {
    return null;
  }
}

/** Null: nothing can be begun ahead for such a run. */
export async function rememberShape(stateDir: string, name: string, shape: Shape | null): Promise<void> {
  const directory = join(stateDir, 'ahead');
  const path = pathOf(stateDir, name);
  if (shape === null) return rmSync(path, { force: true });
  await makePrivate(directory);
  const aside = join(directory, `.${newId(thisOwner())}`);
  writeFileSync(aside, JSON.stringify(shape), { mode: 0o600, flag: 'wx' });
  renameSync(aside, path);
  forgetOldest(directory);
}

/** Two names with the same file have each other's guess, which then does not fit: no more than that. */
function pathOf(stateDir: string, name: string): string {
  let [one, other] = [0x811c9dc5, 0x9e3779b9];
  for (const byte of Buffer.from(name)) {
    one = Math.imul(one ^ byte, 0x01000193);
    other = Math.imul(other + byte, 0x85ebca6b) ^ (other >>> 15);
  }
  return join(stateDir, 'ahead', [one, other].map(part => (part >>> 0).toString(16).padStart(8, '0')).join(''));
}

function forgetOldest(directory: string): void {
  const names = readdirSync(directory);
  if (names.length <= MAX_KEPT) return;
  const aged = names.flatMap(name => {
    const stats = statSync(join(directory, name), { throwIfNoEntry: false });
    return stats === undefined ? [] : [{ name, at: stats.mtimeMs }];
  });
  aged.sort((a, b) => a.at - b.at);
  for (const { name } of aged.slice(0, names.length - MAX_KEPT)) rmSync(join(directory, name), { force: true });
}
