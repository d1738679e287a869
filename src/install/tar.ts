import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { renderSize, SkillboxError } from '../base/index.ts';
import { checkPath, DEFAULT_LIMITS, NameIndex, showPath } from '../skill/index.ts';

/**
 * Unpacks a tar.gz that nobody has looked at into a folder that is not there yet, and says where the skill in it lies. Files and
 * directories only: a link or a device in it is a reason to refuse the whole.
 */
export async function unpackTar(body: Buffer, folder: string): Promise<string> {
  mkdirSync(folder);
  const names = new NameIndex();
  let [files, bytes] = [0, 0];
  const packed = extract();
  const input = Readable.from([body]).pipe(createGunzip());
  input.on('error', error => packed.destroy(error));
  input.pipe(packed);
  try {
    for await (const entry of packed) {
      const path = checkHeader(entry.header, names);
      // As the header says and as it comes: gzip makes a thousand bytes of one.
      bytes += entry.header.size ?? 0;
      if (++files > DEFAULT_LIMITS.maxFiles) throw tooLarge(`has more than ${DEFAULT_LIMITS.maxFiles} entries`);
      if (bytes > DEFAULT_LIMITS.maxBytes) throw tooLarge(`holds more than ${renderSize(DEFAULT_LIMITS.maxBytes)}`);
      if (path === null || entry.header.type === 'directory') entry.resume();
      else await writeEntry(entry, join(folder, path), ((entry.header.mode ?? 0) & 0o111) !== 0);
    }
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SkillboxError('ARCHIVE_UNSAFE', `the tar.gz is damaged: ${why}`, { cause });
  } finally {
    input.destroy();
  }
  return topOf(folder);
}

/** The path to write to; null for the folder itself. */
function checkHeader({ name, type }: Header, names: NameIndex): string | null {
  const path = name.replace(/^\.\//, '').replace(/\/+$/, '');
  if (type === 'directory' && (path === '' || path === '.')) return null;
  if (type !== 'file' && type !== 'contiguous-file' && type !== 'directory')
    throw unsafe(name, `is a ${type ?? 'thing'}`);
  const wrong =
    checkPath(path) ??
    (names.add(path, type === 'directory' ? 'directory' : 'file') === null ? null : 'is there twice');
  if (wrong !== null) throw unsafe(name, wrong);
  return path;
}

async function writeEntry(content: AsyncIterable<unknown>, path: string, executable: boolean): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of content) await file.write(chunk as Buffer);
  } finally {
    await file.close();
  }
  chmodSync(path, executable ? 0o700 : 0o600);
}

/** The skill itself, or the one folder around it. */
function topOf(folder: string): string {
  if (existsSync(join(folder, 'SKILL.md'))) return folder;
  const [only, second] = readdirSync(folder, { withFileTypes: true });
  return only?.isDirectory() === true && second === undefined ? join(folder, only.name) : folder;
}

function unsafe(name: string, why: string): SkillboxError {
  return new SkillboxError('ARCHIVE_UNSAFE', `the entry ${showPath(name.slice(0, 200))} ${why}`);
}

function tooLarge(why: string): SkillboxError {
  return new SkillboxError('ARCHIVE_TOO_LARGE', `the tar.gz ${why}`);
}
