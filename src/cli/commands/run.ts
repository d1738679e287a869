import type { Config } from '../../config/index.ts';
import { DIALECTS } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import { SANDBOX_OPTION, withSkillbox } from '../connect.ts';
import { nameOf } from '../early-run.ts';
import type { Io } from '../io.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';

export const runCommand: Command = {
  name: 'run',
  summary: 'Run a skill in a sandbox: its entrypoint, one of its tools, or one of its scripts.',
  args: [
    {
      name: 'SKILL',
      help: 'a folder, a zip, the name of a skill in the catalog, or NAME@VERSION of a published one',
      required: true,
      many: false,
    },
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
    capability: {
      help: 'give it this besides what it declares, such as anthropic/messages.create; skills of any format',
      value: 'NAME',
      many: true,
    },
    workspace: { help: 'the directory that scripts work in; without it they get an empty one', value: 'DIR' },
    path: {
      help: 'give it this file or folder of yours beyond the workspace, or one in it that is hidden or protected; PATH:rw to write',
      value: 'PATH',
      many: true,
    },
    sandbox: SANDBOX_OPTION,
    timeout: { help: 'end the run after this time', value: 'DURATION' },
    download: { help: 'write the files of the run here', value: 'DIR' },
    dialect: { help: 'read as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    'dry-run': { help: 'show what would run and what policy says, and run nothing' },
    yes: { help: 'allow this one run, where policy lets a flag do so' },
    ...SERVER_OPTION,
    json: { help: 'print one JSON document' },
  },
  rest: 'ARGUMENTS…',
  examples: [
    `skillbox run examples/skillbox/word-count --input '{"text":"to be or not to be"}'`,
    'skillbox run examples/gibberish/git git_log --param count=5',
    `skillbox run examples/seksbot/weather-lookup --input '"Lisbon"'`,
    'skillbox run examples/workspace/log-summary --workspace . -- --input app.log',
  ],
  run: orOnServer(run, async () => (await import('../remote/run.ts')).runThere, { patient: true }),
};

/** The sandbox is begun first; what reads the skill is loaded while it gets ready. */
function run(input: Input, io: Io, config: Config): Promise<number> {
  const [skill = '.', target = ''] = input.args;
  const soon = !input.flag('dry-run');
  const like = nameOf(io.cwd, skill, target);
  return withSkillbox(
    io,
    async skillbox => {
      const { runSkill } = await import('../run-skill.ts');
      return runSkill(skillbox, input, io);
    },
    { sandbox: input.value('sandbox'), soon, like, config },
  );
}
