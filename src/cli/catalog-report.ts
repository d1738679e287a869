import { visibleLine } from '../base/index.ts';
import { type Catalog, cutsField, type KnownSkill, renderCuts, type TokenCount } from '../catalog/index.ts';
import type { Disclosed } from '../disclose.ts';

const MAX_LINES = 8;

/** The catalog, and everything that was found and is not in it, for machines. */
export function catalogToJson(catalog: Catalog, { discovery, resolution }: Disclosed): object {
  const { format, text, tokens, shown, tools, leftOut, cuts, hidden, unmatched } = catalog;
  return {
    format,
    tokens,
    text,
    skills: shown.map(({ skill, description }) => ({ ...identify(skill), description })),
    tools: tools.map(({ name, tool, skill, description, schema, policy }) => {
      return { name, tool, skill, description, schema, policy };
    }),
    ...cutsField(cuts),
    left_out: leftOut.map(identify),
    unmatched,
    hidden: hidden.map(({ skill, reason }) => ({ ...identify(skill), reason })),
    shadowed: resolution.shadowed.map(({ skill, by }) => ({ ...identify(skill), by: by.folder })),
    untrusted: resolution.untrusted.map(identify),
    broken: discovery.broken.map(({ name, folder, place, fault }) => ({ name, folder, place: place.kind, fault })),
    nested: discovery.skills.flatMap(({ nested }) => nested),
    problems: discovery.problems,
    places: discovery.places,
  };
}

function identify({ name, dialect, trust, place, folder, realFolder, location }: KnownSkill): object {
  return { name, dialect, trust, place: place.kind, folder, real_folder: realFolder, location };
}

/** What people should know beside the catalog itself; one line for each matter. */
export function renderNotes(catalog: Catalog, { discovery, resolution }: Disclosed, how: TokenCount): string {
  const { shown, tokens, cuts, unmatched } = catalog;
  const about = how === 'estimate' ? 'about ' : '';
  const cut = renderCuts(cuts);
  const lines = [
    `${plural(shown.length, 'skill')}, ${about}${plural(tokens, 'token')}.`,
    ...(cut === null ? [] : [cut]),
    ...(unmatched === 0 ? [] : [`${plural(unmatched, 'skill')} not shown: the query is about something else.`]),
    ...untrustedLines(resolution.untrusted),
    ...limited(discovery.broken, ({ folder, fault }) => `${folder} does not load: ${fault.message}`),
    ...limited(resolution.shadowed, ({ skill, by }) => `${skill.name} in ${skill.folder} is shadowed by ${by.folder}.`),
    ...limited(
      discovery.skills.filter(({ nested }) => nested.length > 0).flatMap(({ nested }) => nested),
      path => `${path} lies inside another skill and is not offered.`,
    ),
    ...limited(
      discovery.problems.filter(({ kind }) => kind !== 'seen'),
      ({ path, message }) => `${path} ${message}.`,
    ),
  ];
  return lines.map(line => `${visibleLine(line, 600)}\n`).join('');
}

/** One line for each place, not for each skill: the names in it are a stranger's text. */
export function untrustedLines(skills: readonly KnownSkill[]): string[] {
  const places = new Map<string, number>();
  for (const { place } of skills) places.set(place.path, (places.get(place.path) ?? 0) + 1);
  return limited([...places], ([path, count]) => {
    return `${path} holds ${plural(count, 'skill')} that nobody vouches for; not shown. If you trust them: skillbox trust add ${path}`;
  });
}

function limited<T>(items: readonly T[], render: (item: T) => string): string[] {
  const lines = items.slice(0, MAX_LINES).map(render);
  return items.length <= MAX_LINES ? lines : [...lines, `… and ${items.length - MAX_LINES} more; see --json.`];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
