import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline as flow, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { fromLine, MAX_BODY, type Walked } from '../audit/index.ts';
import { errnoOf, SkillboxError } from '../base/index.ts';

/** Entry and hash; a file that somebody changed does not fill the memory. */
const MAX_LINE = MAX_BODY + 100;

/** The lines as the bytes of one gzip file. */
export async function* packLines(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer> {
  const text = async function* () {
    for await (const line of lines) yield `${line}\n`;
  };
  // Its errors come out of the last stream, which is read here.
  yield* flow(Readable.from(text()), createGzip(), () => undefined) as AsyncIterable<Buffer>;
}

/** Writes the lines as one gzip file that is there whole or not at all; answers the SHA-256 of the file. */
export async function writeSegment(path: string, lines: Iterable<string>): Promise<string> {
  const part = `${path}.part`; // the path is of this writer alone
  const hash = createHash('sha256');
  const file = await open(part, 'w', 0o600);
  try {
    for await (const chunk of packLines(lines)) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
    await file.close();
    await rename(part, path);
    await syncDirectory(dirname(path));
    await syncDirectory(dirname(dirname(path)));
    return hash.digest('hex');
  } catch (error) {
    await file.close().catch(() => undefined); // the fault that led here is the one to tell
    await rm(part, { force: true });
    throw error;
  }
}

/** The name must survive a crash as well: the rows that the file holds are deleted next. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** The entries of a sealed file, unchecked, and damage where it cannot be read or is not the file that was sealed. */
export function readSegment(path: string, name: string, sha256: string): AsyncGenerator<Walked> {
  return readPacked(createReadStream(path), name, sha256);
}

/** The same of a sealed file wherever its bytes come from. */
export async function* readPacked(
  content: AsyncIterable<Buffer>,
  name: string,
  sha256: string,
): AsyncGenerator<Walked> {
  const hash = createHash('sha256');
  const packed = async function* () {
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  };
  // Its errors come out of the last stream, which is read below.
  const text = flow(Readable.from(packed()), createGunzip(), () => undefined).setEncoding('utf8');
  let line = 0;
  try {
    for await (const content of linesOf(text as AsyncIterable<string>)) {
      line++;
      const where = `line ${line} of ${name}`;
      const read = fromLine(content);
      yield read === null
        ? { kind: 'damage', where, what: 'a line of a sealed file is no entry' }
        : { kind: 'entry', where, ...read, found: null };
    }
  } catch (error) {
    if (error instanceof SkillboxError && error.code === 'BLOB_DAMAGED') yield otherSegment(name);
    // Where the blobs do not answer, nothing can be said about them.
    else if (error instanceof SkillboxError) throw error;
    else yield unreadable(name, line, error);
    return;
  }
  if (hash.digest('hex') !== sha256) yield otherSegment(name);
}

async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of text) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > MAX_LINE) throw new Error(`a line is longer than ${MAX_LINE} characters`);
  }
  if (rest !== '') yield rest;
}

export function missingSegment(name: string): Walked {
  return { kind: 'damage', where: name, what: 'a sealed file is missing' };
}

function otherSegment(name: string): Walked {
  return { kind: 'damage', where: name, what: 'a sealed file is not the one that was sealed' };
}

function unreadable(name: string, line: number, error: unknown): Walked {
  if (errnoOf(error) === 'ENOENT') return missingSegment(name);
  const why = error instanceof Error ? error.message : String(error);
  return { kind: 'damage', where: `${name}, after line ${line}`, what: `a sealed file cannot be read: ${why}` };
}
