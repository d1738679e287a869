import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  isJSONRPCRequest,
  isJsonContentType,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/server';
import { Answer, refuse } from './answer.ts';

/** A request as the server was given it, and whose it is. */
export type AskedRequest = IncomingMessage & { auth?: AuthInfo };

/**
 * The SDK's transport of one session, with a shorter way for what clients send most: a body with one request in it. That is
 * answered without web streams, and as JSON when there is nothing to say before the result. All else, and whatever is not
 * quite as it should be, the SDK takes and answers or refuses; so there is one place that says why not.
 */
export class SessionTransport implements Transport {
  readonly #sdk: NodeStreamableHTTPServerTransport;
  readonly #answers = new Map<RequestId, Answer>();
  /** Of all requests under way, whoever answers them. */
  readonly #ids = new Set<RequestId>();
  #versions: readonly string[] = [];
  #isClosed = false;

  constructor(name: string, onEnd: () => void) {
    this.#sdk = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: () => name, onsessionclosed: onEnd });
  }

  /** Undefined until the session was initialized. */
  get sessionId(): string | undefined {
    return this.#sdk.sessionId;
  }

  get onclose(): Transport['onclose'] {
    return this.#sdk.onclose;
  }

  set onclose(handler: Transport['onclose']) {
    this.#sdk.onclose = handler;
  }

  get onerror(): Transport['onerror'] {
    return this.#sdk.onerror;
  }

  set onerror(handler: Transport['onerror']) {
    this.#sdk.onerror = handler;
  }

  get onmessage(): Transport['onmessage'] {
    return this.#sdk.onmessage;
  }

  set onmessage(handler: Transport['onmessage']) {
    this.#sdk.onmessage = handler;
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#versions = versions;
    this.#sdk.setSupportedProtocolVersions(versions);
  }

  start(): Promise<void> {
    return this.#sdk.start();
  }

  /** `request` is the body when it is known to be one request of a client of 2025, and not the one that begins a session. */
  async handle(req: AskedRequest, res: ServerResponse, body: unknown, request: JSONRPCRequest | null): Promise<void> {
    const ids = request === null ? idsIn(body) : [request.id];
    if (!this.#hold(ids, res)) return refuse(res, 400, -32600, 'A request with that id is under way: take another.');
    if (request === null || !this.#takes(req)) return this.#sdk.handleRequest(req, res, body);
    const answer = new Answer(res, this.sessionId ?? '');
    this.#answers.set(request.id, answer);
    res.once('close', () => {
      if (this.#answers.get(request.id) === answer) this.#answers.delete(request.id);
    });
    this.onmessage?.(request, req.auth === undefined ? {} : { authInfo: req.auth });
  }

  /** Threat: of two requests with one id, one would get the result of the other. False where one is under way. */
  #hold(ids: readonly RequestId[], res: ServerResponse): boolean {
    if (new Set(ids).size < ids.length || ids.some(id => this.#ids.has(id))) return false;
    for (const id of ids) this.#ids.add(id);
    res.once('close', () => {
      for (const id of ids) this.#ids.delete(id);
    });
    return true;
  }

  /** What the SDK asks of a request. */
  #takes({ headers }: IncomingMessage): boolean {
    const { accept = '', 'content-type': type, 'mcp-session-id': session, 'mcp-protocol-version': version } = headers;
    return (
      !this.#isClosed &&
      this.sessionId !== undefined &&
      session === this.sessionId &&
      accept.includes('application/json') &&
      accept.includes('text/event-stream') &&
      isJsonContentType(type ?? null) &&
      (version === undefined || this.#versions.includes(String(version)))
    );
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const isResult = !('method' in message);
    const id = isResult ? message.id : options?.relatedRequestId;
    if (id === undefined) return this.#sdk.send(message);
    if (isResult) this.#ids.delete(id);
    const answer = this.#answers.get(id);
    if (answer === undefined) return this.#sdk.send(message, { relatedRequestId: id });
    if (!isResult) return answer.tell(message);
    this.#answers.delete(id);
    answer.end(message);
  }

  /** Whoever still waits is told that there is no such session any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#answers.values()];
    this.#answers.clear();
    for (const answer of open) answer.leave();
    await this.#sdk.close();
  }
}

/** What a body asks; nothing where it is none that could be answered. */
function idsIn(body: unknown): RequestId[] {
  return (Array.isArray(body) ? body : [body]).filter(isJSONRPCRequest).map(({ id }) => id);
}
