import { ERRORS, type ErrorCode, SkillboxError } from '../base/index.ts';
import { readText } from './bytes.ts';

type Answer = { error: string; message: string; hint: string; details: Record<string, unknown>; request_id: string };

/** What the server said, as the error that it was there. */
export async function readRefusal(answer: Response): Promise<SkillboxError> {
  const said = await readAnswer(answer);
  const requestId = said?.request_id ?? answer.headers.get('x-request-id');
  const noted = requestId === null ? {} : { request_id: requestId };
  if (said === null) return foreign(answer.status, noted);
  const code = isCode(said.error) ? said.error : codeOf(answer.status);
  const more = isCode(said.error) ? {} : { code: said.error };
  return new SkillboxError(code, said.message, { hint: said.hint, details: { ...said.details, ...more, ...noted } });
}

export function codeOfAnswer(error: unknown): string | null {
  return error instanceof SkillboxError ? error.code : null;
}

/** Names the host and nothing else of what was sent. */
export function unreachable(url: URL, cause: unknown): SkillboxError {
  if (isRedirect(cause))
    return new SkillboxError('SERVER_UNREACHABLE', `the server at ${url.host} sends its callers to another address`, {
      hint: 'The key goes only where it was meant to: give that address itself, with https where it has it.',
      cause,
    });
  return new SkillboxError('SERVER_UNREACHABLE', `the server at ${url.host} does not answer: ${reasonOf(cause)}`, {
    cause,
  });
}

/** As Node says it; a browser does not tell. */
function isRedirect(cause: unknown): boolean {
  return cause instanceof Error && cause.cause instanceof Error && cause.cause.message === 'unexpected redirect';
}

function reasonOf(cause: unknown): string {
  const deeper = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (!(deeper instanceof Error)) return 'no reason is known';
  const code = 'code' in deeper && typeof deeper.code === 'string' ? deeper.code : '';
  return code === '' ? deeper.message : code;
}

const MAX_REFUSAL_BYTES = 1024 ** 2;

async function readAnswer(answer: Response): Promise<Answer | null> {
  try {
    const said: unknown = JSON.parse(await readText(answer, MAX_REFUSAL_BYTES));
    return isAnswer(said) ? said : null;
  } catch {
    return null; // something else than the server answered
  }
}

function isAnswer(said: unknown): said is Answer {
  if (typeof said !== 'object' || said === null) return false;
  const { error, message, hint, details } = said as Record<string, unknown>;
  const texts = [error, message, hint].every(each => typeof each === 'string');
  return texts && typeof details === 'object' && details !== null;
}

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/** A server of another version may know codes that are not known here; the status tells enough to go on. */
function codeOf(status: number): ErrorCode {
  const codes: Readonly<Record<number, ErrorCode>> = {
    401: 'UNAUTHENTICATED',
    403: 'FORBIDDEN',
    404: 'NOT_FOUND',
    405: 'METHOD_REFUSED',
    409: 'EXISTS',
    413: 'BODY_TOO_LARGE',
    415: 'MEDIA_TYPE_REFUSED',
    422: 'INVALID_CALL',
    429: 'BUSY',
    503: 'BACKEND_UNAVAILABLE',
    507: 'QUOTA_EXCEEDED',
  };
  return codes[status] ?? (status >= 500 ? 'INTERNAL' : 'BODY_REFUSED');
}

export function foreign(status: number, noted: Record<string, unknown> = {}): SkillboxError {
  return new SkillboxError('SERVER_UNREACHABLE', `what answers there is no Skillbox server (HTTP ${status})`, {
    details: { status, ...noted },
  });
}

/** It may be our server, of a version that says something else there. */
export function misshapen(status: number, field: string): SkillboxError {
  const hint = 'Check the address in --server or SKILLBOX_SERVER_URL; or the server is of another version.';
  const { message } = foreign(status);
  return new SkillboxError('SERVER_UNREACHABLE', `${message}: "${field}" is missing or wrong`, {
    hint,
    details: { status, field },
  });
}

/** A connection that failed, before its answer or in the middle of it. What was understood and refused has no cause. */
export function isBreak(error: unknown): boolean {
  return error instanceof SkillboxError && error.code === 'SERVER_UNREACHABLE' && error.cause !== undefined;
}
