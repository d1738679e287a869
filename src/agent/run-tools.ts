import type { Reply } from '../app.ts';
import type { CatalogTool } from '../catalog/index.ts';
import { textOf } from './arguments.ts';
import type { Own } from './desk.ts';
import { hooksOf, logsOf } from './local-library.ts';
import { reportRun, WORDS_HERE } from './run-report.ts';
import { wantedBy } from './run-target.ts';
import { integer, object, RUN, STRINGS, skillName, text } from './schemas.ts';
import type { Offered } from './shelf.ts';
import { type AgentTool, type CallContext, READING, type ToolResult } from './tool.ts';

/** AS-12: the entrypoint of a skill, or one of its scripts. */
export function runSkill(offered: Offered): AgentTool {
  return {
    name: 'run_skill',
    title: 'Run a skill',
    description:
      'Runs the entrypoint of a skill, or one of its scripts, in a sandbox. A person may have to allow it first: then the result says "waiting".',
    input: object(
      {
        skill: skillName(offered.skills),
        script: text('A file in scripts/; left out, the entrypoint or the only script is run.'),
        arguments: { ...STRINGS, description: 'Words for a script, as an array.' },
        input: { type: 'object', description: 'Input for an entrypoint, as JSON.' },
        stdin: text('Text for standard input of a script.'),
        timeout_seconds: integer('End it after so many seconds.'),
      },
      ['skill'],
    ),
    output: RUN,
    hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
    scope: 'run',
    inWorkspace: true,
    call: (args, context) => context.library.run(textOf(args, 'skill'), skill => wantedBy(skill, args), context),
  };
}

/** GB-19: a tool of a gibberish skill under a name of its own. */
export function skillTool(tool: CatalogTool, name: string): AgentTool {
  const { read_only: readOnly } = tool.policy;
  return {
    name,
    title: `${tool.skill}: ${tool.tool}`,
    description: `${tool.description}\n(From the skill "${tool.skill}".)`,
    input: tool.schema,
    output: RUN,
    hints: { readOnly, destructive: !readOnly, idempotent: false, openWorld: !readOnly },
    scope: 'run',
    inWorkspace: true,
    call(args, context) {
      const target = { kind: 'tool' as const, name: tool.tool, arguments: args };
      return context.library.run(tool.skill, () => ({ target, input: {}, stdin: null, timeoutMs: null }), context);
    },
  };
}

export function getRun(): AgentTool {
  return {
    name: 'get_run',
    title: 'Look at a run',
    description:
      'Tells how a run stands and what it gave: for one that was waiting for a person, or whose result is lost.',
    input: object({ run_id: text('As run_skill gave it.') }, ['run_id']),
    output: RUN,
    hints: { ...READING, idempotent: false },
    scope: 'read',
    inWorkspace: false,
    call: (args, { library }) => library.getRun(textOf(args, 'run_id')),
  };
}

/** What a person answered to a run that waits; a yes runs it here and now. */
export async function settleWaiting(
  { skillbox }: Own,
  id: string,
  reply: Reply,
  context: CallContext,
): Promise<ToolResult> {
  const record = await skillbox.approvals.settle(id, reply, hooksOf(context));
  return reportRun(record, logsOf(skillbox), WORDS_HERE);
}
