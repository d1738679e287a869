import { resolve } from 'node:path';
import { SkillboxError } from '../../base/index.ts';
import { readSkill } from '../../dialects/index.ts';
import { DIALECTS, type DialectName, openFolder } from '../../skill/index.ts';
import { replyFrom } from '../approval-prompt.ts';
import type { Command, Input } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import { download } from '../download.ts';
import { followRun, reportRun } from '../follow-run.ts';
import type { Io } from '../io.ts';
import { renderDiagnostic } from '../render-diagnostics.ts';
import { showPlan } from '../render-plan.ts';
import { toRunRequest } from '../run-request.ts';

export const runCommand: Command = {
  name: 'run',
  summary: 'Run a skill in a sandbox: its entrypoint, one of its tools, or one of its scripts.',
  args: [
    { name: 'SKILL', help: 'a folder or a zip', required: true, many: false },
    {
      name: 'TOOL|SCRIPT',
      help: 'a tool (gibberish) or a file in scripts/; may be left out where there is only one',
      required: false,
      many: false,
    },
  ],
  options: {
    input: { help: 'the input as JSON; @FILE or - reads it', value: 'JSON' },
    param: { help: 'an argument of a tool', value: 'K=V', many: true },
    env: { help: 'a variable for the run', value: 'K=V', many: true },
    workspace: { help: 'the directory that scripts work in; without it they get an empty one', value: 'DIR' },
    sandbox: {
      help: 'the sandbox to use instead of the strongest usable',
      value: 'S',
      choices: ['bubblewrap', 'docker', 'process'],
    },
    timeout: { help: 'end the run after this time', value: 'DURATION' },
    download: { help: 'write the files of the run here', value: 'DIR' },
    dialect: { help: 'read as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    'dry-run': { help: 'show what would run and what policy says, and run nothing' },
    yes: { help: 'allow this one run, where policy lets a flag do so' },
    json: { help: 'print one JSON document' },
  },
  rest: 'ARGUMENTS…',
  examples: [
    `skillbox run examples/skillbox/word-count --input '{"text":"to be or not to be"}'`,
    'skillbox run examples/gibberish/git git_log --param count=5',
    'skillbox run examples/workspace/log-summary --workspace . -- --input app.log',
  ],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const folder = await openFolder(resolve(io.cwd, input.args[0] ?? '.'));
  try {
    const reading = readSkill(folder, { mode: 'lenient', dialect: input.value('dialect') as DialectName | null });
    const { skill } = reading;
    if (skill === null) {
      const errors = reading.diagnostics.filter(({ severity }) => severity === 'error');
      if (!input.flag('json')) for (const diagnostic of errors) io.err(renderDiagnostic(diagnostic, null, io.paint));
      throw new SkillboxError('INVALID_SKILL', 'the skill cannot be read', { details: { diagnostics: errors } });
    }
    const request = toRunRequest(skill, folder, input, io);
    return await withSkillbox(
      io,
      async skillbox => {
        if (input.flag('dry-run')) return showPlan(await skillbox.plan(request), input.flag('json'), io);
        const asking = input.flag('yes') ? async () => replyFrom(io, 'once', 'flag') : null;
        const record = await followRun(io, input.flag('json'), asking, hooks => skillbox.run(request, hooks));
        const target = input.value('download');
        if (target !== null) await download(record, skillbox, resolve(io.cwd, target));
        return reportRun(record, skillbox, input.flag('json'), io);
      },
      input.value('sandbox'),
    );
  } finally {
    folder.close();
  }
}
