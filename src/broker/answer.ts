import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** What went wrong, for programs. */
export type Fault =
  | 'no_token'
  | 'bad_token'
  | 'denied'
  | 'bad_request'
  | 'not_found'
  | 'too_large'
  | 'limit_reached'
  | 'unreachable'
  | 'timeout';

const STATUS: Record<Fault, number> = {
  no_token: 401,
  bad_token: 401,
  denied: 403,
  bad_request: 400,
  not_found: 404,
  too_large: 413,
  limit_reached: 429,
  unreachable: 502,
  timeout: 504,
};

const LINGER_MS = 300;
/** It may repeat what was asked for. */
const MAX_MESSAGE = 1000;

/** SK-16: errors are JSON, whatever was asked. */
export function answerFault(outgoing: ServerResponse, fault: Fault, message: string, status = STATUS[fault]): void {
  if (outgoing.headersSent || outgoing.destroyed) {
    outgoing.destroy();
    return;
  }
  const { req: incoming } = outgoing;
  answerJson(outgoing, status, fieldsOf(fault, message));
  if (incoming.complete) return;
  // What the run is still sending is not wanted, and soon the connection ends. A little of it is still taken, for one that is
  // closed over unread bytes takes the answer with it.
  incoming.resume();
  setTimeout(() => void (incoming.complete || incoming.socket.destroy()), LINGER_MS).unref();
}

function fieldsOf(fault: Fault, message: string) {
  return { error: { type: fault, code: fault, message: `skillbox: ${message.slice(0, MAX_MESSAGE).toWellFormed()}` } };
}

export function answerJson(outgoing: ServerResponse, status: number, value: unknown): void {
  answerText(outgoing, status, 'application/json', `${JSON.stringify(value)}\n`);
}

export function answerText(outgoing: ServerResponse, status: number, type: string, text: string): void {
  outgoing.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  outgoing.end(text);
}

/** Where there is no response object: tunnels and upgrades. */
export function answerRaw(client: Duplex, status: number, fault: Fault, message: string, more = ''): void {
  const body = `${JSON.stringify(fieldsOf(fault, message))}\n`;
  // Many clients show of a refused tunnel the first line alone.
  const phrase = message.replace(/[^\x20-\x7e]/g, '?').slice(0, 200);
  // What else comes is not wanted. Threat: unread it would hold the connection for good.
  client.resume();
  const leave = () => void setTimeout(() => client.destroy(), LINGER_MS).unref();
  client.end(
    `HTTP/1.1 ${status} ${phrase}\r\ncontent-type: application/json\r\nconnection: close\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    leave,
  );
}
