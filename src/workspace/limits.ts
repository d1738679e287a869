import { extname } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';

/** WS-06: both inclusive. */
export const READ_BYTES = 1_048_576;
export const WRITE_BYTES = 102_400;

/** WS-05: exactly those of the format. */
export const EXTENSIONS: ReadonlySet<string> = new Set(
  [
    ['.md', '.txt', '.json', '.yaml', '.yml'],
    ['.py', '.sh', '.bash', '.js', '.ts'],
    ['.html', '.css', '.xml', '.csv', '.log'],
    ['.toml', '.ini', '.cfg', '.conf'],
  ].flat(),
);

/** By the last suffix of the resolved name, whatever its case. A name that is all suffix, such as `.log`, has none. */
export function checkExtension(path: string): void {
  const extension = extname(path).toLowerCase();
  if (EXTENSIONS.has(extension)) return;
  const what = extension === '' ? 'has no ending' : `ends in ${visibleLine(extension, 32)}`;
  throw new SkillboxError('FILE_TYPE', `${visibleLine(path)} ${what}, which is not on the list`);
}

export function checkSize(path: string, bytes: number, max: number): void {
  if (bytes <= max) return;
  throw new SkillboxError('FILE_TOO_LARGE', `${visibleLine(path)} has ${bytes} bytes; the limit is ${max}`, {
    details: { bytes, max },
  });
}
