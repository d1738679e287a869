import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ToolResult } from '../agent/index.ts';

/** Our words and those of others in blocks of their own; the second is marked for clients that look. */
export function toResult({ note, body, data, error, isError }: ToolResult): CallToolResult {
  return {
    content: [
      { type: 'text', text: note },
      ...(body === null ? [] : [{ type: 'text' as const, text: body, _meta: { 'skillbox/untrusted': true } }]),
    ],
    ...(data === null ? {} : { structuredContent: data }),
    ...(error === null ? {} : { _meta: { 'skillbox/error': error } }),
    isError,
  };
}
