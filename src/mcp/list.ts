import {
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { type AgentTool, type ToolScope, type Tools, toolsOf } from '../agent/index.ts';
import { deskOf, type Host } from './host.ts';

const PAGE = 1000;
const shapes = new WeakMap<Tools, Map<string, Tool[]>>();

export async function listTools(host: Host, ctx: ServerContext, cursor: string | undefined): Promise<ListToolsResult> {
  const caller = host.callerOf(ctx);
  const all = shapesOf(await toolsOf(deskOf(host, caller)), caller.scopes);
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0 || (from > 0 && from >= all.length)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the cursor is not one of this list');
  }
  const more = from + PAGE < all.length;
  return { tools: all.slice(from, from + PAGE), ...(more ? { nextCursor: String(from + PAGE) } : {}) };
}

/** Made once for each state of the catalog, and each kind of caller. */
function shapesOf(tools: Tools, scopes: readonly ToolScope[]): Tool[] {
  const kinds = shapes.get(tools) ?? new Map<string, Tool[]>();
  shapes.set(tools, kinds);
  const kind = scopes.join(' ');
  const known = kinds.get(kind);
  if (known !== undefined) return known;
  const made = [...tools.values()].filter(({ scope }) => scopes.includes(scope)).map(toShape);
  kinds.set(kind, made);
  return made;
}

function toShape({ name, title, description, input, output, hints }: AgentTool): Tool {
  return {
    name,
    title,
    description,
    inputSchema: input as Tool['inputSchema'], // ours are objects
    outputSchema: output as NonNullable<Tool['outputSchema']>,
    annotations: {
      title,
      readOnlyHint: hints.readOnly,
      destructiveHint: hints.destructive,
      idempotentHint: hints.idempotent,
      openWorldHint: hints.openWorld,
    },
  };
}
