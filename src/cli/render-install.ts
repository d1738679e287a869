import { visibleLine } from '../base/index.ts';
import type { LockedSource, Offer, Plan, PlannedSkill, Write } from '../install/index.ts';
import { type Finding, SEVERITIES } from '../scan/index.ts';
import type { SkillDiff } from '../skill/index.ts';
import type { Io, Paint } from './io.ts';
import { countSeverities, plural, renderCounts } from './render-diagnostics.ts';
import { showPath } from './write-folder.ts';

/** What would be installed, for people; every word of a skill is made visible. */

const MAX_FINDINGS = 12;
const DOES: Record<Write['what'], string> = {
  store: 'store ',
  link: 'link  ',
  copy: 'copy  ',
  lock: 'lock  ',
  gone: 'remove',
  config: 'edit  ',
  backup: 'backup',
};

export function renderPlan(plan: Plan, io: Io): string {
  const lines = plan.skills.flatMap(skill => [...renderSkill(skill, io.paint), '']);
  for (const { path, what } of plan.writes) lines.push(`  ${DOES[what]} ${visibleLine(showPath(path, io.cwd), 200)}`);
  const agents = [...new Set(plan.skills.flatMap(({ locked }) => locked.agents))];
  if (plan.skills.length > 0) {
    lines.push(
      '',
      agents.length === 0 ? 'No agent was found; name one with --agent.' : `For ${agents.join(', ')}.`,
      trustOf(plan),
    );
  }
  return `${lines.join('\n')}\n`;
}

const IN_PROJECT =
  'They are not trusted by being installed here, unless you trust this folder: a run asks you first. Agents read their instructions all the same.';
const OWN = 'They lie in your own directory then: Skillbox trusts them as yours, and agents read them.';

function trustOf({ scope, skills }: Plan): string {
  const arrived = skills.filter(({ locked }) => locked.source.kind === 'mcp').map(({ locked }) => locked.name);
  const usual = scope.kind === 'project' ? IN_PROJECT : OWN;
  if (arrived.length === 0) return usual;
  const stays = `What an MCP server gave stays untrusted wherever it lies (${arrived.join(', ')}): a run asks you first. Agents read it all the same.`;
  return arrived.length === skills.length ? stays : `${usual} ${stays}`;
}

export function renderSkill(
  { skill, locked, change, asks, diagnostics, findings, notLookedInto, losesEdits }: PlannedSkill,
  paint: Paint,
): string[] {
  const version = locked.version === null ? '' : ` ${visibleLine(locked.version, 40)}`;
  const state = { new: 'new', changed: 'other bytes than installed', same: 'as installed' }[change];
  const lines = [
    `${paint('bold', locked.name)}${version}  ${paint('dim', `${skill.dialect}, ${plural(locked.files.size, 'file')}, ${state}`)}`,
    `  ${visibleLine(skill.description, 200)}`,
    `  ${paint('dim', `from ${renderSource(locked.source, locked.folder)}`)}`,
    `  ${paint('dim', locked.digest)}`,
  ];
  if (losesEdits)
    lines.push(`  ${paint('yellow', 'what lies there has other bytes than were installed; they will be lost')}`);
  for (const ask of asks) lines.push(`  asks for ${ask}`);
  if (diagnostics.length > 0) lines.push(`  reading: ${renderCounts(countSeverities(diagnostics))}`);
  for (const { severity, message, code } of diagnostics.filter(one => one.severity !== 'info').slice(0, MAX_FINDINGS)) {
    lines.push(
      `    ${paint(severity === 'error' ? 'red' : 'yellow', severity)} ${visibleLine(message, 160)} ${paint('dim', `[${code}]`)}`,
    );
  }
  lines.push(...renderFindings(findings, paint));
  if (notLookedInto.length > 0) lines.push(`  not looked into: ${plural(notLookedInto.length, 'file')}`);
  return lines;
}

function renderFindings(findings: readonly Finding[], paint: Paint): string[] {
  const told = findings.filter(({ severity }) => severity !== 'info');
  if (told.length === 0) return [];
  const counts = SEVERITIES.map(severity => ({
    severity,
    count: told.filter(one => one.severity === severity).length,
  }));
  const sum = counts.filter(({ count }) => count > 0).map(({ severity, count }) => `${count} ${severity}`);
  const lines = told.slice(0, MAX_FINDINGS).map(({ severity, file, line, why, rule }) => {
    const shown = severity === 'high' ? paint('red', severity) : paint('yellow', severity);
    return `    ${shown} ${visibleLine(file, 80)}:${line} ${visibleLine(why, 160)} ${paint('dim', `[${rule}]`)}`;
  });
  if (told.length > MAX_FINDINGS) lines.push(`    and ${told.length - MAX_FINDINGS} more: skillbox skill scan`);
  return [`  scan: ${sum.join(', ')}`, ...lines];
}

export function renderSource(source: LockedSource, folder: string): string {
  const inside = folder === '' ? '' : ` ${folder}`;
  if (source.kind === 'registry') {
    const from = source.server ?? 'the registry of this machine';
    return visibleLine(`${from}, version ${source.version} for "${source.wanted ?? 'latest'}"`, 200);
  }
  if (source.kind === 'mcp') return visibleLine(`${source.server} ${source.uri}`, 300);
  if (source.kind !== 'git') return visibleLine(`${source.kind === 'path' ? source.path : source.url}${inside}`, 200);
  return visibleLine(`${source.url}${inside} at ${source.ref ?? 'HEAD'} (${source.commit.slice(0, 12)})`, 200);
}

/** What an update changes, by skill; null where there is nothing on disk to compare with. */
export type Diffs = ReadonlyMap<string, SkillDiff | null>;

export function planJson(plan: Plan, done: boolean, diffs: Diffs = new Map()): object {
  return {
    scope: plan.scope.kind,
    root: plan.scope.root,
    skills: plan.skills.map(({ locked, change, skill, asks, diagnostics, findings, notLookedInto, losesEdits }) => ({
      name: locked.name,
      version: locked.version,
      description: skill.description,
      dialect: skill.dialect,
      change,
      digest: locked.digest,
      source: locked.source,
      folder: locked.folder,
      agents: locked.agents,
      method: locked.method,
      losesEdits,
      asks,
      diagnostics,
      findings,
      notLookedInto,
      ...diffJson(diffs, locked.name),
    })),
    removed: plan.removed.map(({ name, digest }) => ({ name, digest })),
    writes: plan.writes,
    done,
  };
}

function diffJson(diffs: Diffs, name: string): { diff?: Omit<SkillDiff, 'equal'> | null } {
  const diff = diffs.get(name);
  if (diff === undefined) return {};
  return { diff: diff === null ? null : { fields: diff.fields, files: diff.files } };
}

/** The list that a person picks from. */
export function renderOffers(offers: readonly Offer[]): string {
  const rows = offers.map(({ name, description, place }, index) => {
    // Two of one name are told apart by where they are.
    const twins = offers.filter(one => one.name === name).length > 1;
    const shown = name === null ? `(does not load) ${place}` : `${name}${twins ? ` (${place})` : ''}`;
    return `  ${String(index + 1).padStart(3)}  ${visibleLine(shown, 120)}  ${visibleLine(description, 90)}`.trimEnd();
  });
  return `${rows.join('\n')}\n`;
}
