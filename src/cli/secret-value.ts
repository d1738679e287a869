import { resolve } from 'node:path';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { Io } from './io.ts';
import { readBounded } from './read-bounded.ts';

/** More than a value may have, so that the vault can say so; a pipe need not have an end. */
const MAX_BYTES = 65 * 1024 + 2;

/**
 * The value of a secret: typed without being shown, from standard input, or from a file. Never from the command line, which
 * everybody on the machine can read and the shell writes down.
 */
export async function readSecretValue(fromFile: string | null, io: Io): Promise<Buffer> {
  const bytes = fromFile === null ? await readDirect(io) : await readFile(resolve(io.cwd, fromFile), io);
  if (bytes.length > MAX_BYTES) throw tooLong();
  const value = withoutLineEnd(bytes);
  if (value.length === 0)
    throw new SkillboxError('SECRET_INVALID', 'there is no value', {
      hint: 'Nothing was stored. Type it on a terminal, or give it on standard input or with --from-file.',
    });
  return value;
}

async function readDirect(io: Io): Promise<Buffer> {
  if (!io.interactive) return (await io.readStdin(MAX_BYTES)) ?? fail();
  const typed = await io.askSecret('Value (not shown): ');
  if (typed === null) throw new SkillboxError('CANCELED', 'nothing was stored', { hint: '' });
  if (typed.includes('\n')) {
    throw new SkillboxError('SECRET_INVALID', 'more than one line was pasted', {
      hint: 'Nothing was stored. Put a value of several lines into a file, and name it with --from-file.',
    });
  }
  return typed;
}

function fail(): never {
  throw tooLong();
}

function tooLong(): SkillboxError {
  return new SkillboxError('SECRET_INVALID', 'the value is too long', { hint: 'At most 64 KiB are kept.' });
}

async function readFile(path: string, { interrupt }: Io): Promise<Buffer> {
  try {
    return (await readBounded(path, MAX_BYTES, interrupt)) ?? fail();
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('NOT_FOUND', `cannot read ${path} (${errnoOf(cause) ?? 'unknown'})`, { cause });
  }
}

/** `echo` and editors end a line that nobody meant. */
function withoutLineEnd(bytes: Buffer): Buffer {
  const end = bytes.at(-1) === 10 ? (bytes.at(-2) === 13 ? 2 : 1) : 0;
  return bytes.subarray(0, bytes.length - end);
}
