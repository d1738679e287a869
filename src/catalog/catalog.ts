import type { NativeTool } from '../dialects/index.ts';
import { type Cuts, cutText, fitBudget } from './budget.ts';
import { type Audience, hiddenBecause } from './offer.ts';
import { type Ranking, rankSkills } from './rank.ts';
import { type Format, renderCatalog, type ShownSkill } from './render.ts';
import type { KnownSkill, Resolution } from './resolve.ts';
import { type CountTokens, tokenCounter } from './tokens.ts';
import { type CatalogTool, readTools } from './tools.ts';

export type CatalogRequest = Audience &
  Ranking & {
    format: Format;
    /** At most so many skills; null: all. Pinned ones count. */
    limit: number | null;
    /** At most so many tokens of text; null: as many as it takes. */
    budget: number | null;
    count: CountTokens | null;
    /** GB-19: tools of the caller's own, for the gibberish manifest. */
    nativeTools: readonly NativeTool[];
  };

export type HiddenSkill = { skill: KnownSkill; reason: string };

/** What a model is shown, and what it is not shown. */
export type Catalog = {
  format: Format;
  text: string;
  tokens: number;
  shown: readonly ShownSkill[];
  tools: readonly CatalogTool[];
  /** By `limit` or `budget`, the best first. */
  leftOut: readonly KnownSkill[];
  cuts: Cuts;
  /** How many do not fit the query. */
  unmatched: number;
  hidden: readonly HiddenSkill[];
};

export const CATALOG_REQUEST: Omit<CatalogRequest, 'platform'> = {
  mode: 'Global',
  hidden: () => null,
  pinned: [],
  recent: [],
  query: null,
  format: 'xml',
  limit: null,
  budget: null,
  count: null,
  nativeTools: [],
};

const NO_TOOLS: readonly CatalogTool[] = Object.freeze([]);
const FORMATS_WITH_TOOLS: ReadonlySet<Format> = new Set(['gibberish', 'openai', 'anthropic']);

/** AS-10: from the skills that hold a name to the text for a model. */
export async function buildCatalog(
  { skills }: Pick<Resolution, 'skills'>,
  partial: Partial<CatalogRequest> = {},
): Promise<Catalog> {
  const request = { ...CATALOG_REQUEST, platform: process.platform, ...partial };
  const { format, limit, budget, nativeTools } = request;
  const hidden: HiddenSkill[] = [];
  const offered = skills.filter(skill => {
    const reason = hiddenBecause(skill, request);
    if (reason !== null) hidden.push({ skill, reason });
    // The manifest lists tools; a skill without any has no place in it.
    return reason === null && (format !== 'gibberish' || skill.dialect === 'gibberish');
  });
  const ranked = await rankSkills(offered, request);
  const kept = limit === null ? ranked : ranked.slice(0, limit);
  const tools = FORMATS_WITH_TOOLS.has(format) ? readTools(kept) : new Map<KnownSkill, CatalogTool[]>();
  const entries = kept.map((skill): ShownSkill => {
    return { skill, description: skill.description, tools: tools.get(skill) ?? NO_TOOLS };
  });
  const limited = ranked.length - kept.length;
  const fitted = fitBudget(
    {
      entries,
      shorten,
      render: (some, cuts) =>
        renderCatalog(some, { ...cuts, leftOut: cuts.leftOut + limited }, { format, nativeTools }),
      count: request.count ?? (await tokenCounter('estimate')),
    },
    budget,
  );
  return {
    format,
    text: fitted.text,
    tokens: fitted.tokens,
    shown: fitted.shown,
    tools: FORMATS_WITH_TOOLS.has(format) ? fitted.shown.flatMap(entry => entry.tools) : NO_TOOLS,
    leftOut: ranked.slice(fitted.shown.length),
    cuts: { ...fitted.cuts, leftOut: fitted.cuts.leftOut + limited },
    unmatched: offered.length - ranked.length,
    hidden,
  };
}

function shorten(entry: ShownSkill, cap: number): ShownSkill {
  if (entry.description.length <= cap && entry.tools.length === 0) return entry;
  const description = cutText(entry.description, cap);
  const tools = entry.tools.map(tool => {
    const cut = cutText(tool.description, cap);
    return cut === tool.description ? tool : { ...tool, description: cut };
  });
  const same = description === entry.description && tools.every((tool, index) => tool === entry.tools[index]);
  return same ? entry : { ...entry, description, tools };
}
