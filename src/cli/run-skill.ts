import type { Skillbox } from '../app.ts';
import { SkillboxError } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import type { DialectName, Folder, Skill } from '../skill/index.ts';
import { replyFrom } from './approval-prompt.ts';
import type { Input } from './command.ts';
import { download, downloadTarget } from './download.ts';
import { followRun, reportRun } from './follow-run.ts';
import type { Io } from './io.ts';
import { renderDiagnostic } from './render-diagnostics.ts';
import { showPlan } from './render-plan.ts';
import { toRunRequest } from './run-request.ts';
import { openMeant } from './skill-place.ts';

/** `skillbox run` once there is a Skillbox: reads the skill, runs it, and shows how it went. */
export async function runSkill(skillbox: Skillbox, input: Input, io: Io): Promise<number> {
  const { folder, version } = await openMeant(input.args[0] ?? '.', skillbox, io);
  try {
    const skill = readOrTell(folder, input, io);
    const request = await toRunRequest({ ...skill, version: skill.version ?? version }, folder, input, io);
    const json = input.flag('json');
    const target = downloadTarget(input, io);
    if (input.flag('dry-run')) return showPlan(await skillbox.plan(request), json, io);
    const asking = input.flag('yes') ? async () => replyFrom(io, 'once', 'flag') : null;
    const record = await followRun(io, json, asking, hooks => skillbox.run(request, hooks));
    const filesIn = target === null || record.startedAt === null ? null : await download(record, skillbox, target);
    return reportRun(record, skillbox, json, io, filesIn);
  } finally {
    folder.close();
  }
}

function readOrTell(folder: Folder, input: Input, io: Io): Skill {
  const { skill, diagnostics } = readSkill(folder, {
    mode: 'lenient',
    dialect: input.value('dialect') as DialectName | null,
  });
  if (skill !== null) return skill;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (!input.flag('json')) for (const diagnostic of errors) io.err(renderDiagnostic(diagnostic, null, io.paint));
  throw new SkillboxError('INVALID_SKILL', 'the skill cannot be read', { details: { diagnostics: errors } });
}
