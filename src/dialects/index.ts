/** Five formats into one model: recognise, read with diagnostics, and say what a call would start. */
export { checkTargets } from './check-targets.ts';
export type { Call, Invocation, Mount, Reading, ReadOptions } from './dialect.ts';
export { type Header, readHeader } from './header.ts';
export { invokeSkill, readSkill } from './read.ts';
export { DEFAULT_IMAGES, hostRuntimeOf } from './skillbox.ts';
export { TARGETS, type Target } from './targets.ts';
