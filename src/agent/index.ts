/** What an agent may call, whatever the protocol: skills to find, read and run, and files in a workspace. */
export { describeQuestion } from './ask.ts';
export { callTool, errorResult } from './call.ts';
export type { Desk } from './desk.ts';
export { settleWaiting } from './run-tools.ts';
export { CATALOG_TOKENS, createShelf, type Offered, type Shelf } from './shelf.ts';
export { type AgentTool, type CallContext, newSession, type Session, type ToolResult } from './tool.ts';
export { type Tools, toolsOf } from './tools.ts';
