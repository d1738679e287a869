/** How skills arrive: from a source into a project or the user's directory, locked to their bytes, for every agent. */
export { AGENT_IDS, AGENTS, type Agent, type AgentId, agentIds, detectAgents } from './agents.ts';
export { applyPlan, type InstallEvent } from './apply.ts';
export { type Choice, checkNames, chooseOffers } from './choose.ts';
export { type AgentState, agentStates, type ConfigChange, editConfig, planConfigs } from './configs.ts';
export { storedAt } from './disk.ts';
export { type ForeignLock, foreignHash, readForeignLock } from './foreign-lock.ts';
export { FETCH_LIMITS, type FetchLimits } from './git.ts';
export { type Lock, type LockedSkill, type LockedSource, parseLock, readLock, renderLock } from './lock-file.ts';
export {
  type Compared,
  findOutdated,
  type Latest,
  LockedSources,
  type Outdated,
  wantedByLock,
  withSource,
} from './locked.ts';
export { keyFor } from './mcp-server.ts';
export { type Loaded, type Obtained, type Offer, obtain } from './obtain.ts';
export { type Plan, type PlannedSkill, planInstall, planRemove, type Wanted, type Write, withConfigs } from './plan.ts';
export type { Release, SkillSource } from './registry-shelf.ts';
export { LOCK_FILE, projectScope, type Scope, userScope } from './scope.ts';
export { parseSource, type Source, showSource } from './source.ts';
export { type Difference, type Verified, verifyInstalled } from './verify.ts';
