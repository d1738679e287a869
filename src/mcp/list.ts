import { type ListToolsResult, ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/server';
import { type AgentTool, type Tools, toolsOf } from '../agent/index.ts';
import type { Host } from './host.ts';

const PAGE = 1000;
const shapes = new WeakMap<Tools, Tool[]>();

export async function listTools(host: Host, cursor: string | undefined): Promise<ListToolsResult> {
  const all = shapesOf(await toolsOf(host.desk));
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0 || (from > 0 && from >= all.length)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the cursor is not one of this list');
  }
  const more = from + PAGE < all.length;
  return { tools: all.slice(from, from + PAGE), ...(more ? { nextCursor: String(from + PAGE) } : {}) };
}

/** Made once for each state of the catalog. */
function shapesOf(tools: Tools): Tool[] {
  const known = shapes.get(tools);
  if (known !== undefined) return known;
  const made = [...tools.values()].map(toShape);
  shapes.set(tools, made);
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
