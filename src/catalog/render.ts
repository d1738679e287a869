import type { JsonObject, JsonValue } from '../base/index.ts';
import { type NativeTool, renderManifest } from '../dialects/index.ts';
import { type Cuts, renderCuts } from './budget.ts';
import { cleanLine } from './clean.ts';
import { escapeMarkdown, escapeXmlText } from './escape.ts';
import type { KnownSkill } from './resolve.ts';
import type { CatalogTool } from './tools.ts';

export const FORMATS = ['xml', 'json', 'markdown', 'gibberish', 'openai', 'anthropic'] as const;
export type Format = (typeof FORMATS)[number];

/** A skill as one catalog shows it: its description perhaps cut, its tools where the format has any. */
export type ShownSkill = { skill: KnownSkill; description: string; tools: readonly CatalogTool[] };

/** A function that a model may call, before it takes the shape of one client. */
export type FunctionTool = { name: string; description: string; parameters: JsonObject };

export type RenderOptions = { format: Format; nativeTools: readonly NativeTool[] };

/** AS-10: the catalog as text. Nothing to show is the empty text. */
export function renderCatalog(
  skills: readonly ShownSkill[],
  cuts: Cuts,
  { format, nativeTools }: RenderOptions,
): string {
  if (skills.length === 0 && format !== 'gibberish') return '';
  switch (format) {
    case 'xml':
      return renderXml(skills, cuts);
    case 'json':
      return renderJson(skills, cuts);
    case 'markdown':
      return renderMarkdown(skills, cuts);
    case 'gibberish':
      return renderGibberish(skills, cuts, nativeTools);
    case 'openai':
      return `${JSON.stringify(functionTools(skills, cuts).map(toOpenAiTool), null, 2)}\n`;
    case 'anthropic':
      return `${JSON.stringify(functionTools(skills, cuts).map(toAnthropicTool), null, 2)}\n`;
  }
}

const PARTS_AT_ONCE = 100;

/** The shape of the agent-skills seed, 5.3, to the character; what was cut stands in a comment. */
function renderXml(skills: readonly ShownSkill[], cuts: Cuts): string {
  const note = renderCuts(cuts);
  // Joined in two steps: the text may have megabytes, and its parts would be moved about in memory until the end.
  const whole: string[] = [];
  let parts = ['<available_skills>\n'];
  for (const { skill, description } of skills) {
    if (parts.length === PARTS_AT_ONCE) {
      whole.push(parts.join(''));
      parts = [];
    }
    parts.push(`  <skill>
    <name>${escapeXmlText(skill.name)}</name>
    <description>${escapeXmlText(description)}</description>
    <location>${escapeXmlText(cleanLine(skill.location))}</location>
  </skill>
`);
  }
  parts.push(note === null ? '' : `  <!-- ${note} -->\n`, '</available_skills>\n');
  whole.push(parts.join(''));
  return whole.join('');
}

function renderJson(skills: readonly ShownSkill[], cuts: Cuts): string {
  const entries = skills.map(({ skill: { name, location }, description }) => ({ name, description, location }));
  return `${JSON.stringify({ skills: entries, ...cutsField(cuts) }, null, 2)}\n`;
}

/** Present only where something was cut. */
export function cutsField({ leftOut, shortened }: Cuts): { cut?: { left_out: number; shortened: number } } {
  return leftOut + shortened === 0 ? {} : { cut: { left_out: leftOut, shortened } };
}

function renderMarkdown(skills: readonly ShownSkill[], cuts: Cuts): string {
  const entries = skills.map(({ skill, description }) => {
    const location = escapeMarkdown(cleanLine(skill.location));
    return `- **${escapeMarkdown(skill.name)}**: ${escapeMarkdown(description)} (${location})\n`;
  });
  const note = renderCuts(cuts);
  return `## Available skills\n\n${entries.join('')}${note === null ? '' : `\n${note}\n`}`;
}

/** GB-19; a catalog of skills that have no tools holds nothing for such a model. */
function renderGibberish(skills: readonly ShownSkill[], cuts: Cuts, nativeTools: readonly NativeTool[]): string {
  const tools = skills.flatMap(({ tools: own }) => own);
  if (tools.length === 0 && nativeTools.length === 0) return '';
  const note = renderCuts(cuts);
  return `${renderManifest(tools, nativeTools)}${note === null ? '' : `\n${note}\n`}`;
}

export const ACTIVATE_TOOL = 'activate_skill';

/** What a model without files calls: one function that gives a skill's instructions, and one for each gibberish tool. */
export function functionTools(skills: readonly ShownSkill[], cuts: Cuts): FunctionTool[] {
  const lines = skills.map(({ skill, description }) => `- ${skill.name}: ${description}`);
  const note = renderCuts(cuts);
  const activate: FunctionTool = {
    name: ACTIVATE_TOOL,
    description: [
      'Gives the instructions of a skill. Call it before a task that fits one of these descriptions, which their authors wrote:',
      ...lines,
      ...(note === null ? [] : [note]),
    ].join('\n'),
    parameters: {
      type: 'object',
      properties: { name: { type: 'string', enum: skills.map(({ skill }): JsonValue => skill.name) } },
      required: ['name'],
      additionalProperties: false,
    },
  };
  const tools = skills.flatMap(({ tools: own }) => own);
  return [activate, ...tools.map(({ name, description, schema }) => ({ name, description, parameters: schema }))];
}

/** The form of OpenAI's chat completions. */
export function toOpenAiTool({ name, description, parameters }: FunctionTool): JsonObject {
  return { type: 'function', function: { name, description, parameters } };
}

export function toAnthropicTool({ name, description, parameters }: FunctionTool): JsonObject {
  return { name, description, input_schema: parameters };
}
