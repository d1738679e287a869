/** What a sandbox may be required to hold, and how firmly; the words are those of `sandbox/`, which a test compares. */
export const GUARANTEE_NAMES = [
  'files',
  'network',
  'processes',
  'syscalls',
  'privileges',
  'identity',
  'environment',
  'tmpfs',
  'workspace',
  'time',
  'cpu',
  'memory',
  'pids',
  'open-files',
  'file-size',
  'disk',
  'output',
] as const;
export type GuaranteeName = (typeof GUARANTEE_NAMES)[number];

/** Weakest first. */
export const LEVEL_NAMES = ['none', 'polled', 'kernel-process', 'kernel-tree'] as const;
export type LevelName = (typeof LEVEL_NAMES)[number];

export function isBelow(level: LevelName, other: LevelName): boolean {
  return LEVEL_NAMES.indexOf(level) < LEVEL_NAMES.indexOf(other);
}
