/** The public TypeScript API. */

export type {
  AiSdkTool,
  AnthropicTool,
  FunctionFormat,
  FunctionOptions,
  Functions,
  OpenAiTool,
} from './agent/index.ts';
export type { ErrorCode, JsonObject, JsonValue } from './base/index.ts';
export { SkillboxError } from './base/index.ts';
export * from './catalog/index.ts';
export * from './dialects/index.ts';
export {
  type Disclosed,
  type DiscloseOptions,
  findLocalSkills,
  type LocalWatch,
  watchLocalSkills,
} from './disclose.ts';
export { type LocalSkillbox, type OpenOptions, openSkillbox, toolsFor } from './open.ts';
export {
  atLeast,
  type Finding,
  type NotLookedInto,
  type Scan,
  type ScanOptions,
  type ScanSeverity,
  scanSkill,
} from './scan/index.ts';
export * from './skill/index.ts';
