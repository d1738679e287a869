/** The model: what a skill is, what can be wrong with it, and its two carriers (folder, archive). */

export { openArchive, writeArchive } from './archive.ts';
export type { RefusalReason } from './archive-refusal.ts';
export type { WrittenArchive } from './archive-write.ts';
export { BOUND_CUSTOMS, SHIPPED_ENDPOINTS } from './capabilities.ts';
export { CODES, type CodeEntry, type DiagnosticCode } from './codes.ts';
export {
  type Diagnostic,
  type Edit,
  Findings,
  hasErrors,
  type Place,
  type ReadMode,
  type Severity,
  sortDiagnostics,
} from './diagnostic.ts';
export {
  type ContentChange,
  compareFields,
  type DiffLine,
  type DiffSide,
  diffSkills,
  digestFiles,
  type FieldChange,
  type FileChange,
  type FileState,
  fieldsOf,
  type Hunk,
  type SkillDiff,
} from './diff.ts';
export { type DiffWork, diffText } from './diff-text.ts';
export { createDigest, type Digest, digestFolder } from './digest.ts';
export { openDirectory } from './directory.ts';
export { type Ending, type EndingStatus, type RunStatus, statusOf } from './ending.ts';
export { comparePaths, type FileEntry, type Folder, type FolderOrigin } from './folder.ts';
export { createGlob } from './glob.ts';
export { defaultRules, IGNORE_FILE, type IgnoreRules } from './ignore.ts';
export { DEFAULT_LIMITS, type FolderLimits } from './limits.ts';
export { checkPath, foldName, MAX_DEPTH, MAX_PATH_BYTES, MAX_SEGMENT_BYTES, NameIndex, showPath } from './names.ts';
export { kindOf, openFolder } from './open.ts';
export * from './skill.ts';
export { versionOf } from './version.ts';
