/** Skills for agents: found on disk, named once, shown within a budget, and read when one is chosen. */
export { ACTIVATE_OPTIONS, type ActivateOptions, type Activation, activateSkill } from './activate.ts';
export { type Cuts, DESCRIPTION_CAPS, renderCuts } from './budget.ts';
export { buildCatalog, type Catalog, type CatalogRequest, type HiddenSkill } from './catalog.ts';
export { cleanLine, cleanText } from './clean.ts';
export { type DiscoverOptions, type Discovery, discover } from './discover.ts';
export { activationEvent, type CatalogEvent, changeEvent } from './events.ts';
export { explainName, type NameReport } from './explain.ts';
export { findSkills } from './find.ts';
export type { BrokenSkill, CatalogSkill } from './found.ts';
export { type IndexCache, isMostlyKnown, NO_CACHE, openIndexCache } from './index-cache.ts';
export { type LookAhead, MIN_FOLDERS, ProgramLookAhead, programLookAhead } from './look-ahead.ts';
export { type Audience, hiddenBecause } from './offer.ts';
export {
  type CatalogPlace,
  PLACE_KINDS,
  type PlaceKind,
  type PlaceSettings,
  placesFor,
  projectFolders,
} from './places.ts';
export { prepareSearch } from './rank.ts';
export {
  ACTIVATE_TOOL,
  cutsField,
  FORMATS,
  type Format,
  type FunctionTool,
  functionTools,
  type ShownSkill,
  toAnthropicTool,
  toOpenAiTool,
} from './render.ts';
export {
  type KnownSkill,
  nameKey,
  type Resolution,
  resolveNames,
  type TrustOf,
  trustByPlace,
} from './resolve.ts';
export { TOKEN_COUNTS, type TokenCount, tokenCounter } from './tokens.ts';
export { type CatalogTool, cleanTool, nameTools } from './tools.ts';
export { WALK_LIMITS, type WalkLimits, type WalkProblem } from './walk.ts';
export { type CatalogWatch, type WatchOptions, watchCatalog } from './watch.ts';
