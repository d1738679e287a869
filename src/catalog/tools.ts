import { emptyObject, isObject, type JsonObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { readSkill, type ToolPolicy, toolPolicy, toolSchema } from '../dialects/index.ts';
import { type Folder, openDirectory } from '../skill/index.ts';
import { cleanLine, cleanText } from './clean.ts';
import type { KnownSkill } from './resolve.ts';

/** A gibberish tool as an agent calls it. */
export type CatalogTool = {
  /** Unique in the catalog; the tool's own name, unless two skills have a tool of that name. */
  name: string;
  /** The name inside its skill: what `run` takes. */
  tool: string;
  skill: string;
  folder: string;
  description: string;
  /** GB-19 */
  schema: JsonObject;
  /** GB-20 */
  policy: ToolPolicy;
};

/** The longest name that every client's functions may have. */
const MAX_FUNCTION_NAME = 64;

/** The tools of the skills, in their order. Each skill is read whole, as a run reads it; one that changed and no longer loads has none. */
export function readTools(skills: readonly KnownSkill[]): Map<KnownSkill, CatalogTool[]> {
  const found = new Map<KnownSkill, CatalogTool[]>();
  for (const skill of skills) if (skill.dialect === 'gibberish') found.set(skill, toolsOf(skill));
  nameTools([...found.values()].flat());
  return found;
}

function toolsOf({ folder, name: skillName }: KnownSkill): CatalogTool[] {
  const opened = openIfThere(folder);
  if (opened === null) return [];
  try {
    const { skill } = readSkill(opened, { mode: 'lenient', dialect: null });
    if (skill === null) return [];
    return skill.tools.map(tool => ({
      name: tool.name,
      tool: tool.name,
      skill: skillName,
      folder,
      ...cleanTool(tool.description, toolSchema(tool)),
      policy: { ...toolPolicy(skill, tool), source: { skill: skillName } },
    }));
  } finally {
    opened.close();
  }
}

function openIfThere(folder: string): Folder | null {
  try {
    return openDirectory(folder);
  } catch (error) {
    if (error instanceof SkillboxError) return null; // removed since it was found
    throw error;
  }
}

/** What a model is told of a tool, without what hides in it. */
export function cleanTool(description: string, schema: JsonObject): { description: string; schema: JsonObject } {
  return { description: firstParagraph(description), schema: cleanSchema(schema) };
}

/** A further paragraph is for those who read the skill. */
function firstParagraph(description: string): string {
  const [first = ''] = cleanText(description)
    .text.trim()
    .split(/\n\s*\n/, 1);
  return cleanLine(first);
}

function cleanSchema(schema: JsonObject): JsonObject {
  const clean = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return cleanLine(value);
    if (Array.isArray(value)) return value.map(clean);
    if (!isObject(value)) return value;
    const copy = emptyObject();
    for (const [key, inner] of Object.entries(value)) copy[key] = clean(inner);
    return copy;
  };
  return clean(schema) as JsonObject;
}

/**
 * Two skills with a tool of one name: both are called `skill__tool`. Neither gets the plain name, so that a call never
 * reaches another tool than the model was told of.
 */
export function nameTools(tools: readonly CatalogTool[]): void {
  const counts = new Map<string, number>();
  for (const { tool } of tools) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const taken = new Set(tools.filter(({ tool }) => counts.get(tool) === 1).map(({ tool }) => tool));
  for (const entry of tools) {
    if (counts.get(entry.tool) === 1) continue;
    entry.name = freeName(`${entry.skill.replace(/[^A-Za-z0-9_-]/g, '_')}__${entry.tool}`, entry.folder, taken);
    entry.policy = { ...entry.policy, name: entry.name };
    taken.add(entry.name);
  }
}

function freeName(wanted: string, folder: string, taken: ReadonlySet<string>): string {
  if (wanted.length <= MAX_FUNCTION_NAME && !taken.has(wanted)) return wanted;
  // Too long, or somebody else's name: the folder makes it one of its own, and the same one each time.
  const mark = process
    .getBuiltinModule('node:crypto')
    .createHash('sha256')
    .update(`${folder}\0${wanted}`)
    .digest('hex')
    .slice(0, 8);
  return `${wanted.slice(0, MAX_FUNCTION_NAME - 9)}_${mark}`;
}
