/** What an agent may call, whatever the protocol: skills to find, read and run, and files in a workspace. */
export { checkDepth } from './arguments.ts';
export { describeQuestion } from './ask.ts';
export { callTool, errorResult } from './call.ts';
export { createLocalDesk, type Desk, type LocalDesk, type LocalDeskOptions, type Own } from './desk.ts';
export type {
  AiSdkOutput,
  AiSdkTool,
  AnthropicCall,
  AnthropicResult,
  AnthropicTool,
  Dispatch,
  OpenAiCall,
  OpenAiResult,
  OpenAiTool,
} from './function-shapes.ts';
export {
  FUNCTION_FORMATS,
  type FunctionFormat,
  type FunctionOptions,
  type Functions,
  functionsOf,
} from './functions.ts';
export type { Library, OpenedSkill } from './library.ts';
export { settleWaiting } from './run-tools.ts';
export { createServiceLibrary } from './service-library.ts';
export { createServiceShelf, EMPTY_SHELF, type ServiceShelf } from './service-shelf.ts';
export { CATALOG_TOKENS, createShelf, type Offered, type OfferedSkill, type Shelf } from './shelf.ts';
export { type AgentTool, type CallContext, newSession, type Session, type ToolResult, type ToolScope } from './tool.ts';
export { type Tools, toolsOf } from './tools.ts';
