import { type JsonObject, type JsonValue, renderDuration, renderSize, visible, visibleLine } from '../base/index.ts';
import type { Needs, Offer, Resource, Skill } from '../skill/index.ts';
import { columns } from './command.ts';
import type { Paint } from './io.ts';
import { plural } from './render-diagnostics.ts';

/** A skill as people read it: sections of aligned rows; what is empty is left out. Its own words are made visible. */

type Row = [string, string];
type ToolText = { name: string; description: string; preview: string; schema: JsonObject };

const MAX_LISTED = 20;

export function renderSkill(
  skill: Skill | null,
  known: Record<string, string>,
  tools: readonly ToolText[],
  paint: Paint,
): string {
  const sections = [renderRows(Object.entries(known))];
  if (skill !== null) {
    sections.unshift(renderHead(skill, paint));
    sections.push(
      titled('about', renderRows(aboutRows(skill)), paint),
      titled('tools', tools.map(tool => renderTool(tool, paint)).join(''), paint),
      titled('scripts', renderRows(scriptRows(skill)), paint),
      titled(`resources`, renderRows(resourceRows(skill.resources)), paint),
      titled('needs', renderRows(needRows(skill.needs)), paint),
      titled('offer', renderRows(offerRows(skill.offer)), paint),
      titled('metadata', renderRows(valueRows(skill.about.metadata)), paint),
      titled('other fields', renderRows(valueRows(skill.extra)), paint),
    );
  }
  return sections.filter(section => section !== '').join('\n');
}

function renderHead({ name, version, description, about }: Skill, paint: Paint): string {
  const emoji = about.emoji === null ? '' : `${visibleLine(about.emoji, 16)} `;
  const title = `${emoji}${paint('bold', visibleLine(name, 80))}${version === null ? '' : ` ${paint('cyan', visibleLine(version, 40))}`}`;
  return `${title}\n  ${visibleLine(description, 1100)}\n`;
}

function titled(title: string, text: string, paint: Paint): string {
  return text === '' ? '' : `${paint('bold', title)}\n${text}`;
}

function renderRows(rows: readonly Row[]): string {
  return rows.length === 0 ? '' : `${columns(rows).join('\n')}\n`;
}

function aboutRows({ about, main, instructions }: Skill): Row[] {
  const rows: Row[] = [];
  if (main !== null) rows.push(['runs', `${visibleLine(main.path, 120)} (${main.language})`]);
  for (const key of ['author', 'license', 'compatibility'] as const) {
    const value = about[key];
    if (value !== null) rows.push([key, visibleLine(value, 500)]);
  }
  if (about.tags.length > 0) rows.push(['tags', visibleLine(about.tags.join(', '), 200)]);
  const lines = instructions.split('\n').length - (instructions.endsWith('\n') ? 1 : 0);
  rows.push([
    'instructions',
    instructions.trim() === '' ? 'none' : `${plural(lines, 'line')}, ${renderSize(Buffer.byteLength(instructions))}`,
  ]);
  return rows;
}

function renderTool({ name, description, preview, schema }: ToolText, paint: Paint): string {
  const rows: string[] = [`  ${paint('green', visibleLine(name, 40))}  ${visibleLine(description, 160)}`.trimEnd()];
  rows.push(`    ${paint('dim', '$')} ${visible(preview)}`);
  rows.push(`    ${paint('dim', `schema ${visible(JSON.stringify(schema))}`)}`);
  return `${rows.join('\n')}\n`;
}

function scriptRows({ scripts }: Skill): Row[] {
  return capped(scripts, ({ path, language, size }) => [path, `${language}, ${renderSize(size)}`]);
}

function resourceRows(resources: readonly Resource[]): Row[] {
  return capped(resources, ({ path, kind, size }) => [
    path,
    kind === 'other' ? renderSize(size) : `${kind}, ${renderSize(size)}`,
  ]);
}

function capped<Item extends { size: number }>(items: readonly Item[], row: (item: Item) => Row): Row[] {
  const rows = items.slice(0, MAX_LISTED).map(item => {
    const [path, rest] = row(item);
    return [visibleLine(path, 120), rest] satisfies Row;
  });
  const left = items.slice(MAX_LISTED);
  if (left.length > 0)
    rows.push(['…', `${left.length} more, ${renderSize(left.reduce((sum, { size }) => sum + size, 0))}`]);
  return rows;
}

const NETWORK = {
  none: 'none',
  broker: 'the secrets broker, nothing else',
  open: 'open: policy decides which hosts',
} as const;

function needRows({ network, secrets, image, limits, readOnly, alwaysAsk, allowedTools }: Needs): Row[] {
  const rows: Row[] = [['network', NETWORK[network]]];
  if (secrets.length > 0) rows.push(['secrets', visibleLine(secrets.join(', '), 400)]);
  if (image !== null) rows.push(['image', visibleLine(image, 120)]);
  rows.push(['time', renderDuration(limits.timeoutMs)]);
  if (limits.memoryBytes !== null) rows.push(['memory', renderSize(limits.memoryBytes)]);
  if (limits.cpus !== null) rows.push(['cpu', String(limits.cpus)]);
  if (readOnly) rows.push(['read only', 'says that it changes nothing']);
  if (alwaysAsk) rows.push(['approval', 'asks each time']);
  const tools = allowedTools.map(({ tool, pattern }) => (pattern === null ? tool : `${tool}(${pattern})`));
  if (tools.length > 0) rows.push(['allowed tools', visibleLine(tools.join(' '), 400)]);
  return rows;
}

function offerRows({ modes, os, always, toModels, toUsers }: Offer): Row[] {
  const audience = [toModels ? 'models' : null, toUsers ? 'users' : null].filter(who => who !== null);
  const rows: Row[] = [['to', audience.join(' and ') || 'nobody']];
  rows.push(['modes', modes.join(', ') || 'none that is known']);
  if (os.length > 0) rows.push(['systems', visibleLine(os.join(', '), 120)]);
  if (always) rows.push(['always', 'in every catalog']);
  return rows;
}

function valueRows(values: JsonObject): Row[] {
  return Object.entries(values).map(([key, value]): Row => [visibleLine(key, 60), renderValue(value)]);
}

function renderValue(value: JsonValue): string {
  return visibleLine(typeof value === 'string' ? value : JSON.stringify(value), 160);
}
