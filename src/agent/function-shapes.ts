import type { JsonObject, JsonValue } from '../base/index.ts';
import { parseArguments } from './arguments.ts';
import { errorResult } from './call.ts';
import type { ToolResult } from './tool.ts';
import type { Tools } from './tools.ts';

/** Calls a tool by name. Faults are results: `isError` says so. */
export type Dispatch = (name: string, args: JsonValue | undefined) => Promise<ToolResult>;

type Text = { type: 'text'; text: string };

/** Our words and those of others stay apart, as two pieces of text. */
function texts({ note, body }: ToolResult): Text[] {
  const pieces = body === null || body === '' ? [note] : [note, body];
  return pieces.map(text => ({ type: 'text', text }));
}

export type OpenAiTool = {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
};
export type OpenAiCall = { id: string; function: { name: string; arguments: string } };
export type OpenAiResult = { role: 'tool'; tool_call_id: string; content: Text[] };

/** Chat completions: `tools`, and a message for each call. */
export function toOpenAi(tools: Tools, dispatch: Dispatch) {
  return {
    tools: [...tools.values()].map(
      ({ name, description, input }): OpenAiTool => ({
        type: 'function',
        function: { name, description, parameters: input },
      }),
    ),
    dispatch: async ({ id, function: { name, arguments: args } }: OpenAiCall): Promise<OpenAiResult> => {
      const result = await parsed(args, value => dispatch(name, value));
      return { role: 'tool', tool_call_id: id, content: texts(result) };
    },
  };
}

export type AnthropicTool = {
  name: string;
  description: string;
  input_schema: { type: 'object'; properties?: unknown; required?: string[]; [key: string]: unknown };
};
export type AnthropicCall = { id: string; name: string; input: unknown };
export type AnthropicResult = { type: 'tool_result'; tool_use_id: string; content: Text[]; is_error: boolean };

/** Messages: `tools`, and a `tool_result` block for each `tool_use` block. */
export function toAnthropic(tools: Tools, dispatch: Dispatch) {
  return {
    tools: [...tools.values()].map(
      ({ name, description, input }): AnthropicTool => ({
        name,
        description,
        input_schema: input as AnthropicTool['input_schema'], // ours are objects
      }),
    ),
    dispatch: async ({ id, name, input }: AnthropicCall): Promise<AnthropicResult> => {
      const result = await dispatch(name, input as JsonValue);
      return { type: 'tool_result', tool_use_id: id, content: texts(result), is_error: result.isError };
    },
  };
}

/** A JSON Schema in the clothes of Standard Schema, which the AI SDK takes without our loading it. */
type StandardSchema = {
  '~standard': {
    version: 1;
    vendor: 'skillbox';
    validate: (value: unknown) => { value: JsonObject };
    jsonSchema: { input: () => Record<string, unknown>; output: () => Record<string, unknown> };
  };
};

export type AiSdkOutput = { note: string; text: string | null; is_error: boolean };
export type AiSdkTool = {
  description: string;
  inputSchema: StandardSchema;
  execute: (input: JsonObject) => Promise<AiSdkOutput>;
};

/** The AI SDK: tools that run themselves. */
export function toAiSdk(tools: Tools, dispatch: Dispatch) {
  const made: Record<string, AiSdkTool> = Object.create(null);
  for (const { name, description, input } of tools.values()) {
    made[name] = {
      description,
      inputSchema: schemaOf(input),
      execute: async args => {
        const { note, body, isError } = await dispatch(name, args);
        return { note, text: body, is_error: isError };
      },
    };
  }
  return { tools: made, dispatch };
}

function schemaOf(schema: JsonObject): StandardSchema {
  return {
    '~standard': {
      version: 1,
      vendor: 'skillbox',
      // Checked when it is called, so that a model is told what is wrong.
      validate: value => ({ value: value as JsonObject }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}

async function parsed(text: string, body: (value: JsonObject) => Promise<ToolResult>): Promise<ToolResult> {
  let value: JsonObject;
  try {
    value = parseArguments(text);
  } catch (error) {
    return errorResult(error);
  }
  return body(value);
}
