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
/** So much is what a list of many tools has; what is beyond that counts as read for the caller. */
const USUAL_LENGTH = 256 * 1024;

type Shapes = { all: Tool[]; length: number };
const shapes = new WeakMap<Tools, Map<string, Shapes>>();

export async function listTools(host: Host, ctx: ServerContext, cursor: string | undefined): Promise<ListToolsResult> {
  const caller = host.callerOf(ctx);
  const { all, length } = shapesOf(await toolsOf(deskOf(host, caller)), caller.scopes);
  // Threat: a body of a hundred such questions is short, and their answers are not.
  if (length > USUAL_LENGTH) caller.hold(length - USUAL_LENGTH);
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0 || (from > 0 && from >= all.length)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the cursor is not one of this list');
  }
  const more = from + PAGE < all.length;
  return { tools: all.slice(from, from + PAGE), ...(more ? { nextCursor: String(from + PAGE) } : {}) };
}

/** Made once for each state of the catalog, and each kind of caller. */
function shapesOf(tools: Tools, scopes: readonly ToolScope[]): Shapes {
  const kinds = shapes.get(tools) ?? new Map<string, Shapes>();
  shapes.set(tools, kinds);
  const kind = scopes.join(' ');
  const known = kinds.get(kind);
  if (known !== undefined) return known;
  const all = [...tools.values()].filter(({ scope }) => scopes.includes(scope)).map(toShape);
  const made = { all, length: JSON.stringify(all).length };
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
