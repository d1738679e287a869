import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { classifyInboundRequest, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { isObject, type JsonValue } from '../base/index.ts';

/**
 * By which protocol a request is answered, as the SDK tells it. `request`: a client of 2025 asks one thing, and begins no session
 * with it. What belongs to neither is refused by the current one.
 */
export type Kind = 'modern' | 'request' | 'session';

export function kindOf({ method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>, body: unknown): Kind {
  if (method !== 'POST' || body === undefined) return 'session';
  if (isPlainRequest(body as JsonValue) && isOf2025(headers['mcp-protocol-version'])) return 'request';
  const found = classifyInboundRequest({
    httpMethod: method,
    ...header(headers, 'mcp-protocol-version', 'protocolVersionHeader'),
    ...header(headers, 'mcp-method', 'mcpMethodHeader'),
    ...header(headers, 'mcp-name', 'mcpNameHeader'),
    body,
  });
  if (found.kind !== 'legacy') return 'modern';
  return found.reason === 'no-claim' ? 'request' : 'session';
}

const PARTS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);

/** What the SDK would find as well, for the most usual bodies: it tries each kind of message in turn, which takes its time. */
function isPlainRequest(body: JsonValue): boolean {
  if (!isObject(body) || !Object.keys(body).every(key => PARTS.has(key))) return false;
  const { jsonrpc, id, method, params } = body;
  return (
    jsonrpc === '2.0' &&
    (typeof id === 'string' || Number.isSafeInteger(id)) &&
    typeof method === 'string' &&
    method !== 'initialize' &&
    // What is said about a message is where the protocols differ.
    (params === undefined || (isObject(params) && params._meta === undefined))
  );
}

function isOf2025(version: string | string[] | undefined): boolean {
  return version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version));
}

function header<K extends string>(headers: IncomingHttpHeaders, name: string, as: K): { [key in K]?: string } {
  const value = headers[name];
  return value === undefined ? {} : ({ [as]: String(value) } as { [key in K]: string });
}
