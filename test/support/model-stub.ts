import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Wanted = { name: string; input: Record<string, unknown> };
type Body = Record<string, unknown>;

/** What the model is to do: call these one after another, then say what the last of them gave. */
export type Stub = { url: string; requests: Body[]; close(): Promise<void> };

/** A model at the wire: three interfaces on one port, each in the words of its own client. */
export async function startModel(calls: readonly Wanted[]): Promise<Stub> {
  const requests: Body[] = [];
  const server = createServer((req, res) => void answer(req, res));
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = await readJson(req);
    requests.push(body);
    const reply = replyTo(req.url ?? '', body, calls[requests.length - 1] ?? null, requests.length);
    res.writeHead(reply === null ? 404 : 200, { 'Content-Type': 'application/json' }).end(JSON.stringify(reply));
  };
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

async function readJson(req: IncomingMessage): Promise<Body> {
  const parts: Buffer[] = [];
  for await (const part of req) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString('utf8')) as Body;
}

function replyTo(path: string, body: Body, call: Wanted | null, turn: number): Body | null {
  const id = `call_${turn}`;
  const messages = (body.messages ?? body.prompt) as unknown[];
  // The last message holds what the tools gave; the model repeats it, so that a test sees what came over the wire.
  const said = `heard: ${JSON.stringify(messages.at(-1))}`;
  switch (path) {
    case '/v1/chat/completions':
      return openAi(id, call, said);
    case '/v1/messages':
      return anthropic(id, call, said);
    case '/language-model':
      return aiSdk(id, call, said);
    default:
      return null;
  }
}

function openAi(id: string, call: Wanted | null, said: string): Body {
  const made = call === null ? null : { name: call.name, arguments: JSON.stringify(call.input) };
  const message =
    made === null
      ? { role: 'assistant', content: said, refusal: null }
      : { role: 'assistant', content: null, refusal: null, tool_calls: [{ id, type: 'function', function: made }] };
  const choice = { index: 0, message, logprobs: null, finish_reason: made === null ? 'stop' : 'tool_calls' };
  return { id: 'c', object: 'chat.completion', created: 1, model: 'stub', choices: [choice] };
}

function anthropic(id: string, call: Wanted | null, said: string): Body {
  const content = call === null ? [{ type: 'text', text: said }] : [{ type: 'tool_use', id, ...call }];
  const usage = { input_tokens: 1, output_tokens: 1 };
  const stop = call === null ? 'end_turn' : 'tool_use';
  return {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'stub',
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage,
  };
}

function aiSdk(id: string, call: Wanted | null, said: string): Body {
  const count = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens: count, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  if (call === null) {
    return {
      content: [{ type: 'text', text: said }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    };
  }
  const made = { type: 'tool-call', toolCallId: id, toolName: call.name, input: JSON.stringify(call.input) };
  return { content: [made], finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] };
}
