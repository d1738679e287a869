import { join } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { KEY } from './mcp.ts';

export const PROTOCOLS = ['2025-11-25', '2026-07-28'] as const;
export type ProtocolVersion = (typeof PROTOCOLS)[number];

export type Asked = { message: string; requestedSchema?: unknown };

export type Wishes = {
  protocol: ProtocolVersion;
  /** Answers an approval; without it the client offers no elicitation. */
  answer?: (asked: Asked) => { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | boolean> };
  /** Without it the client has no roots. */
  roots?: readonly string[];
  onToolsChanged?: () => void;
};

/** The official client, as a program would set it up. */
export function newClient({ protocol, answer, roots, onToolsChanged }: Wishes): Client {
  const options: ClientOptions = {
    capabilities: { ...(answer ? { elicitation: { form: {} } } : {}), ...(roots ? { roots: {} } : {}) },
    ...(protocol === '2026-07-28' ? { versionNegotiation: { mode: 'auto' } } : {}),
    ...(onToolsChanged ? { listChanged: { tools: { onChanged: () => onToolsChanged(), debounceMs: 0 } } } : {}),
  };
  const client = new Client({ name: 'tester', version: '1.0.0' }, options);
  if (answer) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      const { requestedSchema } = params as { requestedSchema?: unknown };
      return answer({ message: String(params.message), requestedSchema });
    });
  }
  if (roots) {
    client.setRequestHandler('roots/list', async () => ({ roots: roots.map(path => ({ uri: `file://${path}` })) }));
  }
  return client;
}

export async function overHttp(url: string, wishes: Wishes, key = KEY): Promise<Client> {
  const client = newClient(wishes);
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

export type Started = { dataDirectory: string; home: string; args: readonly string[] };

/** `skillbox mcp` as a client starts it. */
export async function overStdio({ dataDirectory, home, args }: Started, wishes: Wishes): Promise<Client> {
  const client = newClient(wishes);
  const program = join(import.meta.dirname, '../../src/cli/skillbox.ts');
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, 'mcp', ...args],
      cwd: home,
      env: { PATH: process.env.PATH ?? '', HOME: home, SKILLBOX_DATA_DIR: dataDirectory },
      stderr: 'inherit',
    }),
  );
  return client;
}
