import type { Socket } from 'node:net';
import { newId, SkillboxError } from '../base/index.ts';
import { toRefusal } from './answers.ts';

/** An answer is data: it is not cached, not sniffed, not shown in a frame, and nothing in it is started. */
export const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** What is no HTTP, too slow or too long never becomes a request; it is answered by hand. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, answer } = toRefusal(faultOf(error.code), newId(Date.now()));
  const body = JSON.stringify(answer);
  const head = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(SAFE_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${answer.request_id}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function faultOf(code: string | undefined): SkillboxError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new SkillboxError('REQUEST_TOO_SLOW', 'the request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW')
    return new SkillboxError('HEADERS_TOO_LARGE', 'the path and the headers are too long');
  return new SkillboxError('BODY_REFUSED', 'this is not HTTP as it should be');
}
