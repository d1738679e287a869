/** Five formats into one model: recognise, read with diagnostics, and say what a call would start. */
export { checkTargets } from './check-targets.ts';
export { type Conversion, type ConvertedFile, convertSkill, type Loss } from './convert.ts';
export type { Call, Invocation, Mount, Reading, ReadOptions } from './dialect.ts';
export { coerceArguments } from './gibberish/arguments.ts';
export { type DashedSlot, dashedSlots } from './gibberish/interpolate.ts';
export { renderPreview } from './gibberish/invoke.ts';
export {
  type NativeTool,
  renderManifest,
  type ToolPolicy,
  toolPolicy,
  toolSchema,
  toolsInMode,
} from './gibberish/schema.ts';
export { type Header, readHeader } from './header.ts';
export { checkName, DEFAULT_DESCRIPTION, type InitFile, type InitWish, initFiles } from './init.ts';
export { invokeSkill, readSkill } from './read.ts';
export { DEFAULT_IMAGES, hostRuntimeOf } from './skillbox.ts';
export { decode as decodeText } from './source.ts';
export {
  isEntrypointName,
  plainHeadSummary,
  quickSummary,
  type Summary,
  type SummaryFault,
  summarise,
} from './summary.ts';
export { TARGETS, type Target } from './targets.ts';
