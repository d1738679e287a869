/** The memory of Skillbox: run records and content-addressed blobs behind one contract. */
export type { AnswerChange, AnswerRow, AnswerRows, RunChange, SealRow, Written } from './answers.ts';
export {
  type Blob,
  type BlobPage,
  type Blobs,
  type ByteRange,
  isBlobName,
  type StoredBlob,
  type UrlWish,
} from './blobs.ts';
export { EMBEDDED, openChosenStore, type StoreChoice } from './choice.ts';
export type { UrlSigner } from './disk.ts';
export { readLog } from './log-files.ts';
export type { LogEntry, LogSlice, PlacedEntry, RunLog, RunLogs } from './logs.ts';
export { openStore } from './open.ts';
export { type BlobSettings, openBlobs } from './open-blobs.ts';
export { DEFAULT_POSTGRES, openPostgres } from './open-postgres.ts';
export { discard, partPath, sweepParts, type Writer } from './parts.ts';
export type { PostgresSettings } from './postgres/database.ts';
export type {
  Admission,
  Admitted,
  Instance,
  RunEntry,
  RunKey,
  RunQueue,
  RunQuotas,
  RunUsage,
} from './queue.ts';
export type { S3Settings } from './s3-client.ts';
export type { Rekeying, SecretChange, SecretRow, SecretRows, SecretWritten } from './secrets.ts';
export { openSignedLinks, type SignedLinks } from './signed-links.ts';
export type {
  KeptHead,
  KeptSkill,
  SkillFilter,
  SkillHead,
  SkillRow,
  SkillRows,
  SkillVersions,
  SkillWritten,
} from './skills.ts';
export {
  type Artifact,
  type Durability,
  isEnded,
  RUN_STATES,
  type RunApproval,
  type RunCursor,
  type RunDecision,
  type RunQuery,
  type RunRecord,
  type RunRecords,
  type RunState,
  type Store,
  type WaitingRun,
} from './store.ts';
export type { KeyRow, KeyRows, TenantRow, TenantRows } from './tenants.ts';
