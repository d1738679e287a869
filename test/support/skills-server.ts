import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const EXTENSION = 'io.modelcontextprotocol/skills';

export type Resource = { uri: string; digest: string; size: number };
export type Entry = { uri: string; frontmatter: Record<string, unknown>; resources: Resource[] | 'dynamic' };
type Params = { uri?: string; cursor?: string; protocolVersion?: string };
type Handler = (params: Params, usual: () => unknown) => unknown;

export const sha256 = (bytes: string | Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A skill by its files, as an honest server would list it. */
export function entryOf(name: string, files: Record<string, string | Buffer>, prefix = ''): Entry {
  const root = `skill://${prefix}${name}`;
  const description = /^description: (.*)$/m.exec(String(files['SKILL.md']))?.[1] ?? '';
  const resources = Object.entries(files).map(([path, content]) => ({
    uri: `${root}/${path.split('/').map(encodeURIComponent).join('/')}`,
    digest: sha256(content),
    size: Buffer.byteLength(content),
  }));
  return { uri: `${root}/SKILL.md`, frontmatter: { name, description }, resources };
}

/**
 * An MCP server with skills, written by hand, so that it can do what no honest one does. It knows the protocol of 2025 only.
 * `on` takes the place of a method; `raw` of the whole answer.
 */
export class SkillsServer {
  entries: Entry[] = [];
  readonly contents = new Map<string, string | Buffer>();
  readonly on = new Map<string, Handler>();
  raw: ((request: IncomingMessage, answer: ServerResponse, body: string) => boolean) | null = null;
  /** What was asked for: `skills/list`, `resources/read skill://…`. */
  readonly asked: string[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  url = '';
  readonly #server = createServer((request, answer) => void this.#answer(request, answer));

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise(resolve => this.#server.close(resolve));
  }

  reset(): void {
    this.entries = [];
    this.contents.clear();
    this.on.clear();
    this.raw = null;
    this.asked.length = 0;
    this.headers.length = 0;
  }

  /** Serves a skill, in the place of one of the same address. */
  serve(name: string, files: Record<string, string | Buffer>, prefix = ''): Entry {
    const entry = entryOf(name, files, prefix);
    this.entries = [...this.entries.filter(({ uri }) => uri !== entry.uri), entry];
    const contents = Object.values(files);
    for (const [index, { uri }] of (entry.resources as Resource[]).entries()) {
      this.contents.set(uri, contents[index] ?? '');
    }
    return entry;
  }

  reads(): string[] {
    return this.asked.filter(line => line.startsWith('resources/read')).map(line => line.split(' ')[1] ?? '');
  }

  async #answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await text(request);
    this.headers.push(request.headers);
    if (this.raw?.(request, answer, body) === true) return;
    if (request.method !== 'POST') return void answer.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(body) as { id?: number; method: string; params?: Params };
    this.asked.push(params.uri === undefined ? method : `${method} ${params.uri}`);
    if (id === undefined) return void answer.writeHead(202).end();
    const usual = () => this.#usual(method, params);
    let result: unknown;
    try {
      result = await (this.on.get(method)?.(params, usual) ?? usual());
    } catch {
      result = null;
    }
    const error = {
      code: method.startsWith('skills/') || method.startsWith('resources/') ? -32602 : -32601,
      message: 'no',
    };
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === null ? { error } : { result }) }));
  }

  #usual(method: string, { uri, protocolVersion }: Params): unknown {
    if (method === 'initialize') {
      const capabilities = { resources: {}, extensions: { [EXTENSION]: {} } };
      return { protocolVersion, capabilities, serverInfo: { name: 'by-hand', version: '1' } };
    }
    if (method === 'skills/list') return { skills: this.entries };
    if (method === 'skills/get') {
      const skill = this.entries.find(entry => entry.uri === uri);
      return skill === undefined ? null : { skill };
    }
    const content = method === 'resources/read' ? this.contents.get(uri ?? '') : undefined;
    if (content === undefined) return null;
    const held = typeof content === 'string' ? { text: content } : { blob: content.toString('base64') };
    return { contents: [{ uri, mimeType: 'text/plain', ...held }] };
  }
}
