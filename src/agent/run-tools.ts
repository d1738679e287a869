import { StringDecoder } from 'node:string_decoder';
import type { Reply, RunHooks } from '../app.ts';
import { isId, SkillboxError } from '../base/index.ts';
import type { CatalogTool, KnownSkill } from '../catalog/index.ts';
import type { Skill } from '../skill/index.ts';
import { textOf } from './arguments.ts';
import type { Desk } from './desk.ts';
import { reportRun } from './run-report.ts';
import { toRequest, type Wanted, wantedBy } from './run-target.ts';
import { integer, object, RUN, STRINGS, skillName, text } from './schemas.ts';
import type { Offered } from './shelf.ts';
import { find, withSkill } from './skill-tools.ts';
import { type AgentTool, type CallContext, READING, type ToolResult } from './tool.ts';

/** AS-12: the entrypoint of a skill, or one of its scripts. */
export function runSkill(offered: Offered, desk: Desk): AgentTool {
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
    inWorkspace: true,
    call: (args, context) => start(desk, find(offered, args.skill), skill => wantedBy(skill, args), context),
  };
}

/** GB-19: a tool of a gibberish skill under a name of its own. */
export function skillTool(offered: Offered, desk: Desk, tool: CatalogTool, name: string): AgentTool {
  const readOnly = tool.policy.read_only;
  return {
    name,
    title: `${tool.skill}: ${tool.tool}`,
    description: `${tool.description}\n(From the skill "${tool.skill}".)`,
    input: tool.schema,
    output: RUN,
    hints: { readOnly, destructive: !readOnly, idempotent: false, openWorld: !readOnly },
    inWorkspace: true,
    call(args, context) {
      const target = { kind: 'tool' as const, name: tool.tool, arguments: args };
      return start(
        desk,
        find(offered, tool.skill),
        () => ({ target, input: {}, stdin: null, timeoutMs: null }),
        context,
      );
    },
  };
}

export function getRun({ skillbox }: Desk): AgentTool {
  return {
    name: 'get_run',
    title: 'Look at a run',
    description:
      'Tells how a run stands and what it gave: for one that was waiting for a person, or whose result is lost.',
    input: object({ run_id: text('As run_skill gave it.') }, ['run_id']),
    output: RUN,
    hints: { ...READING, idempotent: false },
    inWorkspace: false,
    async call(args) {
      const id = textOf(args, 'run_id');
      // Whole ids cannot be guessed; the beginning of one would find what others ran.
      if (!isId(id)) throw new SkillboxError('NOT_FOUND', 'that is not the whole id of a run');
      return await reportRun(await skillbox.getRun(id), skillbox);
    },
  };
}

/** What a person answered to a run that waits; a yes runs it here and now. */
export async function settleWaiting(
  { skillbox }: Desk,
  id: string,
  reply: Reply,
  context: CallContext,
): Promise<ToolResult> {
  return reportRun(await skillbox.approvals.settle(id, reply, hooksOf(context)), skillbox);
}

async function start(
  desk: Desk,
  known: KnownSkill,
  wanted: (skill: Skill) => Wanted,
  context: CallContext,
): Promise<ToolResult> {
  const { skillbox } = desk;
  return withSkill(known, async (skill, folder) => {
    const request = toRequest(desk, context.workspace, skill, folder, wanted(skill));
    // Nobody is asked here: who can be, and by what channel, the entrance knows.
    const record = await skillbox.run(request, { ...hooksOf(context), ask: null });
    return await reportRun(record, skillbox);
  });
}

function hooksOf({ signal, onOutput }: CallContext): RunHooks {
  // A character may begin in one piece and end in the next of its stream.
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  return {
    signal,
    onState: () => undefined,
    onChunk: (stream, chunk) => onOutput(decoders[stream].write(chunk)),
    onBuild: (manager, line) => onOutput(`${manager}: ${line}\n`),
  };
}
