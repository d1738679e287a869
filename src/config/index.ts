/** What Skillbox is told by its operator: one table of settings, read from flags, environment and one file. */
export { findHome } from '../base/index.ts';
export { bundledDirectories, ownSkillDirectories, packageVersion } from './directories.ts';
export { type Fault, invalid, type Place, renderPlace } from './fault.ts';
export { keeping, type Pin } from './kinds.ts';
export { type Config, examineConfig, type Flags, loadConfig, type Origin, type Surroundings } from './load.ts';
export { configDirectory, readNamed } from './read-file.ts';
export type { Role, Secret } from './setting.ts';
export {
  isSecret,
  OTHER_VARIABLES,
  SECRET_VARIABLES,
  SETTING_NAMES,
  type SettingName,
  settingOf,
  type Values,
  variableOf,
} from './settings.ts';
export { findUnknownVariables, findUnreadable, renderValue, valueForJson } from './show.ts';
export { isLoopback } from './together.ts';
