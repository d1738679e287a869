import { realpathSync } from 'node:fs';
import { openTrustStore } from '../../src/policy/index.ts';

/** Makes the skill the user's own, as `skillbox trust add` does; answers its path. */
export function trustIn(dataDirectory: string, path: string): string {
  openTrustStore(dataDirectory).add('path', realpathSync(path));
  return path;
}
