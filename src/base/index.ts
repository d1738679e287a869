/** The ground: errors, JSON, units and text. It knows nothing of skills and imports nothing of ours. */

export { attachment } from './attachment.ts';
export { isBare, partsOfRepositories } from './bare-repository.ts';
export { chance } from './chance.ts';
export { monotonicMs } from './clock.ts';
export { encodingsOf, headerEncodingsOf, wrappedEncodingsOf } from './encodings.ts';
export { ERRORS, type ErrorCode, EXIT, errnoOf, isForCallers, SkillboxError } from './errors.ts';
export { type FileFault, FileFaults } from './file-faults.ts';
export { enclosingGits } from './git-configs.ts';
export { type Account, type GuardedText, type Guards, readGuarded, thisAccount } from './guarded-file.ts';
export { foldName, GIT_GUARDED, GUARDED, GUARDED_BELOW, isObeyed, isSecretName } from './guarded-names.ts';
export {
  type Held,
  hold,
  holdBelow,
  type Instead,
  namesIn,
  type OpenFile,
  openBelow,
  placeIn,
  release,
  statIn,
} from './held.ts';
export { accountHome, findHome, homeOf, noHome } from './home.ts';
export { isId, newId } from './ids.ts';
export { emptyObject, isObject, type JsonObject, type JsonValue, stableJson } from './json.ts';
export { isUnusedSince, markUsed } from './last-use.ts';
export { obeyedElsewhere } from './obeyed-elsewhere.ts';
export { isShared, makeOwn, makePath, makePrivate } from './own-directory.ts';
export { ensureOwnKey, type KeyWords, readOwnKey } from './own-key.ts';
export { findOwnProgram } from './own-program.ts';
export { type PrivateFileOptions, readPrivateFile, syncDirectory, syncFile, writePrivateFile } from './private-file.ts';
export { isSemver } from './semver.ts';
export type { Shape } from './shape.ts';
export * as shape from './shape.ts';
export { MAX_URL_SECONDS, type SignedBlob, signBlobUrl, verifyBlobUrl } from './signed-url.ts';
export { findHidden, renderCodePoint, suggest, visible, visibleLine } from './text.ts';
export { estimateTokens, parseCpu, parseDuration, parseSize, renderDuration, renderSize } from './units.ts';
export { unfinishedBytes } from './utf8.ts';
export { useWal } from './wal.ts';
export { whileAway } from './while-away.ts';
export {
  parseYaml,
  type YamlEntry,
  type YamlMap,
  type YamlNode,
  type YamlProblem,
  type YamlResult,
  yamlToJson,
} from './yaml.ts';
export { yamlLibrary } from './yaml-library.ts';
