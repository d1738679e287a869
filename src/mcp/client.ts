import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { visibleLine } from '../base/index.ts';

/** What a client says of itself: with each request in the current protocol, once at the beginning in those of 2025. */
export type Client = { name: string; elicits: boolean; hasRoots: boolean };

export function clientOf(mcp: McpServer, ctx: ServerContext): Client {
  const envelope: Record<string, unknown> = { ...ctx.mcpReq.envelope };
  const capabilities = (envelope[CLIENT_CAPABILITIES_META_KEY] ??
    mcp.server.getClientCapabilities() ??
    {}) as ClientCapabilities;
  const info = (envelope[CLIENT_INFO_META_KEY] ?? mcp.server.getClientVersion()) as { name?: unknown } | undefined;
  const { elicitation, roots } = capabilities;
  return {
    name: `mcp:${typeof info?.name === 'string' ? visibleLine(info.name, 64) : 'unknown'}`,
    // Without a word about modes it means forms.
    elicits: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    hasRoots: roots !== undefined,
  };
}
