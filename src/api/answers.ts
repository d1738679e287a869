import { ERRORS, type ErrorCode, isForCallers, SkillboxError } from '../base/index.ts';
import { refuseFields } from './fields.ts';

/** Every answer that is no success has this form. */
export type ErrorAnswer = {
  error: ErrorCode;
  message: string;
  hint: string;
  details: Record<string, unknown>;
  request_id: string;
};

export type Refusal = { status: number; answer: ErrorAnswer; unexpected: boolean };

/** What a caller is told. `unexpected`: the log must say more than the answer does. */
export function toRefusal(error: unknown, requestId: string): Refusal {
  const known = error instanceof SkillboxError ? error : translate(error);
  const { status } = known;
  const closed = !isForCallers(known);
  const answer: ErrorAnswer = closed
    ? {
        error: known.code,
        message: 'the server could not do this; its log says why, under the request id',
        hint: ERRORS[known.code].hint,
        details: {},
        request_id: requestId,
      }
    : {
        error: known.code,
        message: known.message,
        hint: known.hint,
        details: { ...known.details },
        request_id: requestId,
      };
  return { status, answer, unexpected: closed };
}

/** The same as JSON-RPC has errors, where that is spoken. The request has no id yet: nobody has read it. */
export function toRpcError(error: unknown, requestId: string): object {
  const { status, answer } = toRefusal(error, requestId);
  const { message, ...data } = answer;
  return { jsonrpc: '2.0', id: null, error: { code: status === 400 ? -32_700 : -32_000, message, data } };
}

/** What the framework refuses, by its code; its own sentences are not for our callers. */
const FRAMEWORK: Readonly<Record<string, [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['BODY_TOO_LARGE', 'the body is too large'],
  FST_REQ_FILE_TOO_LARGE: ['BODY_TOO_LARGE', 'the file is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['MEDIA_TYPE_REFUSED', 'this content type is not taken here'],
  FST_INVALID_MULTIPART_CONTENT_TYPE: ['MEDIA_TYPE_REFUSED', 'this content type is not taken here'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['BODY_REFUSED', 'the body is empty'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['BODY_REFUSED', 'the body is not JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['BODY_REFUSED', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['BODY_REFUSED', 'the path is not well encoded'],
  FST_ERR_MAX_PARAM_LENGTH: ['BODY_REFUSED', 'a part of the path is too long'],
};

function translate(error: unknown): SkillboxError {
  if (!(error instanceof Error)) return new SkillboxError('INTERNAL', String(error));
  if ('validation' in error && Array.isArray(error.validation)) return refuseFields(error, error.validation);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const framework = Object.hasOwn(FRAMEWORK, code) ? FRAMEWORK[code] : undefined;
  if (framework !== undefined) return new SkillboxError(framework[0], framework[1], { cause: error });
  const status = 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status >= 400 && status < 500)
    return new SkillboxError('BODY_REFUSED', 'the request is refused', { cause: error });
  return new SkillboxError('INTERNAL', error.message, { cause: error });
}
