import { Readable } from 'node:stream';
import type { Multipart } from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errnoOf, SkillboxError } from '../base/index.ts';
import type { Bytes } from '../service/index.ts';
import type { ApiServer } from './server.ts';

/** Archives are taken as they come: a zip as the body, or the file `file` of a form. Nothing of them is kept in memory. */
export async function takeArchives(server: ApiServer, maxBytes: number): Promise<void> {
  const { default: multipart } = await import('@fastify/multipart');
  server.removeContentTypeParser('application/json');
  server.addContentTypeParser(['application/zip', 'application/octet-stream'], (_request, payload, done) =>
    done(null, payload),
  );
  await server.register(multipart, {
    // One more than is taken, so that the counting below sees that there is more.
    limits: { files: 1, fileSize: maxBytes + 1, fields: 0, parts: 1, headerPairs: 20 },
  });
}

/** The bytes of the archive in this request. */
export async function archiveOf(request: FastifyRequest, maxBytes: number): Promise<Bytes> {
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > maxBytes + FORM_BYTES) throw tooLarge(maxBytes);
  if (!request.isMultipart()) {
    if (!(request.body instanceof Readable)) throw new SkillboxError('BODY_REFUSED', 'the body is empty');
    return bounded(request.body, maxBytes);
  }
  const parts = request.parts();
  const part = await nextOf(parts);
  if (part?.type !== 'file' || part.fieldname !== 'file')
    throw new SkillboxError('BODY_REFUSED', 'the form has no file that is called "file"');
  return only(bounded(part.file, maxBytes), parts);
}

/** The file of a form, which comes to its end only when nothing follows it: nobody is to believe that a field was heard. */
async function* only(file: Bytes, parts: Parts): AsyncGenerator<Uint8Array> {
  yield* file;
  if ((await nextOf(parts)) !== null) throw tooMuch(null);
}

type Parts = AsyncIterableIterator<Multipart>;

async function nextOf(parts: Parts): Promise<Multipart | null> {
  const { done, value } = await parts.next().catch(refuseForm);
  return done === true ? null : value;
}

/** What a form may need around its file. */
const FORM_BYTES = 64 * 1024;

/** A body that is refused before its end is not worth the rest of it: the connection ends with the answer. */
export function leaveRest(request: FastifyRequest, reply: FastifyReply): void {
  if (request.raw.complete) return;
  reply.header('connection', 'close');
  request.raw.resume();
}

/** The stream is left open when it is too long: whoever still sends must be able to read the answer. */
async function* bounded(content: Readable, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof SkillboxError ? error : refuseForm(error);
  }
  if (bytes === 0) throw new SkillboxError('BODY_REFUSED', 'the archive is empty');
}

const LIMITS: readonly string[] = ['FST_PARTS_LIMIT', 'FST_FIELDS_LIMIT', 'FST_FILES_LIMIT'];

function tooMuch(cause: unknown): SkillboxError {
  return new SkillboxError('BODY_REFUSED', 'a form has nothing but the file "file"', {
    hint: 'Tags and the version go into the query: /v1/skills?tag=stable&version=1.0.0.',
    cause,
  });
}

function refuseForm(cause: unknown): never {
  if (LIMITS.includes(errnoOf(cause) ?? '')) throw tooMuch(cause);
  throw new SkillboxError('BODY_REFUSED', 'the body broke off, or is not the form that it says it is', { cause });
}

function tooLarge(maxBytes: number): SkillboxError {
  return new SkillboxError('BODY_TOO_LARGE', `an archive has at most ${maxBytes} bytes`);
}
