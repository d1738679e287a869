import type { JsonObject } from '../base/index.ts';
import type { Library } from './library.ts';

/** Something that an agent may call, before it takes the shape of one protocol or one model's interface. */
export type AgentTool = {
  name: string;
  title: string;
  description: string;
  /** JSON Schema of the arguments, and of `data` in the result. */
  input: JsonObject;
  output: JsonObject;
  hints: Hints;
  /** What a key must be for, where callers have keys. */
  scope: ToolScope;
  /** It works in the workspace, so that one must be known before the call. */
  inWorkspace: boolean;
  call(args: JsonObject, context: CallContext): Promise<ToolResult>;
};

/** To see and read, or to have something done. */
export type ToolScope = 'read' | 'run';

/** What a client may tell its user before the call. Hints, never guards: policy decides. */
export type Hints = { readOnly: boolean; destructive: boolean; idempotent: boolean; openWorld: boolean };

export const READING: Hints = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
export const WRITING: Hints = { readOnly: false, destructive: true, idempotent: false, openWorld: false };

export type ToolResult = {
  /** Our own words. */
  note: string;
  /** Text that others wrote, apart from ours, so that nothing in it can pose as ours; null where there is none. */
  body: string | null;
  /** As the tool's `output` says; null for an error of ours. */
  data: JsonObject | null;
  error: { code: string; message: string; hint: string } | null;
  /** It was not done, or what was run did not succeed. */
  isError: boolean;
  /** The run that waits for a person's answer. */
  waiting: string | null;
};

export type CallContext = {
  /** What the caller can do. */
  library: Library;
  session: Session;
  /** The folder that the agent works in; null when nobody named one. */
  workspace: string | null;
  signal: AbortSignal | null;
  /** What a run prints, as it comes; null when nobody wants to be told. */
  onOutput: ((text: string) => void) | null;
  /** What called, for the journal. */
  client: string;
};

/** What one conversation has been given already. */
export type Session = { activated: Map<string, string> };

export function newSession(): Session {
  return { activated: new Map() };
}

export function answer(note: string, data: JsonObject, body: string | null = null): ToolResult {
  return { note, body, data, error: null, isError: false, waiting: null };
}
