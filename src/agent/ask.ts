import type { Question } from '../app.ts';
import { renderDuration, visible, visibleLine } from '../base/index.ts';

const MAX_ARGV = 2000;

/** The question as text, for a client that shows it to a person. Nothing of the skill can add a line of its own. */
export function describeQuestion(question: Question): string {
  const { skill, target, trust, reasons, preview, grant, change, banner, problem } = question;
  const version = skill.version === null ? '' : ` ${visibleLine(skill.version, 32)}`;
  const lines = [
    ...(banner ? ['WARNING: nobody vouches for the source of this skill.'] : []),
    `Run ${target.kind === 'main' ? 'the skill' : `the ${target.kind} ${visibleLine(target.name, 64)} of`} "${visibleLine(skill.name, 64)}"${version} (${trust}, ${skill.dialect})?`,
    `About it: ${visibleLine(skill.description, 300)}`,
    `From: ${visibleLine(skill.place, 400)}`,
    `Command: ${visibleLine(preview.argv.join(' '), MAX_ARGV)}`,
    `Network: ${visibleLine(preview.network, 400)}`,
    `Workspace: ${grant.workspace === null ? 'an empty one' : `${visibleLine(grant.workspace.path, 400)}${grant.workspace.writable ? ', writable' : ', read-only'}`}`,
    ...(grant.secrets.length === 0 ? [] : [`Secrets lent: ${visibleLine(grant.secrets.join(', '), 400)}`]),
    ...(preview.dependencies.length === 0
      ? []
      : [`Packages: ${visibleLine(preview.dependencies.map(({ manager }) => manager).join(', '))}`]),
    ...(change === null ? [] : ['The content has changed since it was approved last.']),
    ...(problem === null ? [] : [`Earlier answers do not count: ${visibleLine(problem)}`]),
    ...reasons.map(reason => visibleLine(reason, 400)),
    `Time limit: ${renderDuration(preview.limits.timeMs ?? 0)}`,
  ];
  return visible(lines.join('\n'));
}
