/** The model: what a skill is, what can be wrong with it, and its two carriers (folder, archive). */
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
export { createDigest, type Digest, digestFolder } from './digest.ts';
export { openDirectory } from './directory.ts';
export { comparePaths, type FileEntry, type Folder, type FolderOrigin } from './folder.ts';
export * from './skill.ts';
