import { emptyObject, type JsonObject, visibleLine } from '../../base/index.ts';
import type { Mode, Parameter, Skill, Tool } from '../../skill/index.ts';

/** A tool of the caller's own, listed before the skills'. */
export type NativeTool = { name: string; description: string };

/** GB-20; the field names are those of the seed's 7.3. */
export type ToolPolicy = { name: string; read_only: boolean; always_ask: boolean; source: { skill: string } };

/** GB-19: the arguments of a tool as JSON Schema 2020-12. */
export function toolSchema(tool: Tool): JsonObject {
  const properties = emptyObject();
  for (const parameter of tool.parameters) properties[parameter.name] = parameterSchema(parameter);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties,
    required: tool.parameters.filter(parameter => parameter.required).map(parameter => parameter.name),
    additionalProperties: false,
  };
}

function parameterSchema({ type, description, default: fallback }: Parameter): JsonObject {
  const schema: JsonObject = type === 'array' ? { type, items: { type: 'string' } } : { type };
  if (description !== '') schema.description = description;
  if (fallback !== null) schema.default = fallback;
  return schema;
}

/** The tools that are offered in a mode: Global ones always, others in a mode they name. */
export function toolsInMode(skills: readonly Skill[], mode: Mode): Tool[] {
  const offered = skills.filter(({ offer }) => offer.modes.includes('Global') || offer.modes.includes(mode));
  return offered.flatMap(skill => skill.tools);
}

/** GB-19: the text of the seed's 7.1. Each tool is one line, whatever its description holds. */
export function renderManifest(
  tools: readonly Pick<Tool, 'name' | 'description'>[],
  nativeTools: readonly NativeTool[],
): string {
  const sections = [
    { title: '[Native Tools]', entries: nativeTools },
    { title: '[Skills]', entries: tools },
  ];
  const shown = sections.filter(({ entries }) => entries.length > 0);
  const blocks = shown.map(({ title, entries }) => [title, ...entries.map(renderEntry)].join('\n'));
  return `${['You are a model that can do function calling with the following functions:', ...blocks].join('\n\n')}\n`;
}

/** The first paragraph says what a tool does; a second line would let a description pose as another tool. */
function renderEntry({ name, description }: NativeTool): string {
  const [first = ''] = description.trim().split(/\n\s*\n/, 1);
  return first === '' ? `- ${visibleLine(name)}` : `- ${visibleLine(name)}: ${visibleLine(first)}`;
}

export function toolPolicy(skill: Skill, tool: Tool): ToolPolicy {
  const { readOnly, alwaysAsk } = skill.needs;
  return { name: tool.name, read_only: readOnly, always_ask: alwaysAsk, source: { skill: skill.name } };
}
