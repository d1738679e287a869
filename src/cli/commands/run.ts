import { resolve } from 'node:path';
import type { Planned, RunRecord, Skillbox } from '../../app.ts';
import { EXIT, SkillboxError, visible } from '../../base/index.ts';
import { readSkill } from '../../dialects/index.ts';
import { DIALECTS, type DialectName, type Ending, openFolder, statusOf } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import { download } from '../download.ts';
import type { Io } from '../io.ts';
import { LiveView } from '../live-view.ts';
import { renderDiagnostic } from '../render-diagnostics.ts';
import { toRunRequest } from '../run-request.ts';
import { createDecoder, readEntries, renderResult, toJson } from '../run-result.ts';

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
    'dry-run': { help: 'show what would run, and run nothing' },
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
        const live = io.interactive && !input.flag('json') ? new LiveView(io) : null;
        const decode = createDecoder();
        let record: RunRecord;
        try {
          record = await skillbox.run(request, {
            signal: io.interrupt,
            onState: ({ state }) => live?.setState(state),
            onChunk: (stream, chunk) => live?.add(decode(stream, chunk)),
            onBuild: (manager, line) => live?.setBuild(`${manager}: ${line}`),
          });
        } finally {
          live?.end();
        }
        const target = input.value('download');
        if (target !== null) await download(record, skillbox, resolve(io.cwd, target));
        if (input.flag('json')) io.out(`${JSON.stringify(toJson(record, skillbox), null, 2)}\n`);
        else {
          if (skill.dialect !== 'gibberish') printLog(skillbox, record, io);
          io.out(renderResult(record, io.paint));
        }
        return statusOf(record.ending as Ending).exit;
      },
      input.value('sandbox'),
    );
  } finally {
    folder.close();
  }
}

function printLog(skillbox: Skillbox, record: RunRecord, io: Io): void {
  const decode = createDecoder();
  for (const { stream, bytes } of readEntries(skillbox, record.id)) io.err(visible(decode(stream, bytes)));
}

function showPlan({ spec, snapshot, layers, warnings, invocation }: Planned, json: boolean, io: Io): number {
  const mounts = spec.mounts.map(mount => ({
    at: mount.at,
    kind: mount.kind,
    ...(mount.kind === 'bind' ? { source: mount.source, writable: mount.writable } : {}),
    ...(mount.kind === 'tmpfs' ? { bytes: mount.bytes } : {}),
  }));
  const plan = {
    argv: spec.argv,
    cwd: spec.cwd,
    env: Object.keys(spec.env).sort(),
    mounts,
    layers: layers.map(({ manager, key }) => ({ manager, key, cached: key !== null })),
    limits: spec.limits,
    network: spec.network.kind,
    runtime: spec.runtime.kind === 'image' ? spec.runtime.name : 'host',
    digest: snapshot.digest,
    result: invocation.result,
    decision: { verdict: 'allow', reasons: ['no policy is in force yet'] },
    warnings,
  };
  if (json) io.out(`${JSON.stringify(plan, null, 2)}\n`);
  else {
    const rows = mounts.map(
      mount => `  ${mount.at} (${mount.kind}${'writable' in mount && mount.writable ? ', writable' : ''})`,
    );
    io.out(
      `${[
        `would run: ${spec.argv.map(word => JSON.stringify(word)).join(' ')}`,
        `in: ${spec.cwd}`,
        `variables: ${plan.env.join(', ')}`,
        'mounts:',
        ...rows,
        ...plan.layers.map(({ manager, cached }) => `dependencies: ${manager}, ${cached ? 'built' : 'would be built'}`),
        `limits: ${Object.entries(spec.limits)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ')}`,
        `network: ${plan.network}`,
        `runtime: ${plan.runtime}`,
        `decision: ${plan.decision.verdict} (${plan.decision.reasons.join('; ')})`,
        ...warnings.map(warning => `warning: ${warning}`),
      ]
        .map(visible)
        .join('\n')}\n`,
    );
  }
  return EXIT.ok;
}
