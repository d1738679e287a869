import { ERRORS, type JsonValue, SkillboxError, visible } from '../base/index.ts';
import { checkArguments } from './arguments.ts';
import type { AgentTool, CallContext, ToolResult } from './tool.ts';

/** Checks and calls. What goes wrong is a result that says so and what to do, never an exception: an agent can then go on. */
export async function callTool(
  tool: AgentTool,
  args: JsonValue | undefined,
  context: CallContext,
): Promise<ToolResult> {
  try {
    return await tool.call(checkArguments(tool.input, args), context);
  } catch (error) {
    return errorResult(error);
  }
}

export function errorResult(error: unknown): ToolResult {
  const known = error instanceof SkillboxError;
  const code = known ? error.code : 'INTERNAL';
  // What is none of ours may tell of the machine: its text stays here.
  const message = known ? visible(error.message) : 'something went wrong inside Skillbox';
  const hint = known ? error.hint : ERRORS.INTERNAL.hint;
  return {
    note: `${code}: ${message}\n${hint}`,
    body: null,
    data: null,
    error: { code, message, hint },
    isError: true,
    waiting: null,
  };
}
