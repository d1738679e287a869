import { setTimeout as sleep } from 'node:timers/promises';
import { isEnded, RUN_STATES, type RunState } from '../../app.ts';
import { EXIT, renderDuration, SkillboxError, visible, visibleLine } from '../../base/index.ts';
import { type Argument, type Command, columns, type Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import { createDecoder, durationOf, renderResult, toJson, toSummary } from '../run-result.ts';

const ID: Argument = { name: 'ID', help: 'the id of a run, or the beginning of it', required: true, many: false };
const JSON_OPTION: Option = { help: 'print one JSON document' };
const FOLLOW_MS = 200;

export const execList: Command = {
  name: 'exec list',
  summary: 'List runs, the newest first.',
  args: [],
  options: {
    state: { help: 'only runs in this state', value: 'STATE', choices: RUN_STATES },
    limit: { help: 'how many (20)', value: 'N' },
    json: JSON_OPTION,
  },
  examples: ['skillbox exec list --state failed'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const limit = Number(input.value('limit') ?? 20);
      if (!Number.isInteger(limit) || limit < 1) throw new SkillboxError('USAGE', '--limit is a number from 1');
      const state = input.value('state') as RunState | null;
      const runs = await skillbox.listRuns({ states: state === null ? null : [state], limit });
      if (input.flag('json')) io.out(`${JSON.stringify({ runs: runs.map(toSummary) }, null, 2)}\n`);
      else if (runs.length === 0) io.err('There are no runs yet.\n');
      else {
        const rows = runs.map((run): [string, string] => {
          const when = new Date(run.createdAt).toISOString().slice(0, 19).replace('T', ' ');
          const duration = durationOf(run);
          const took = duration === null ? '' : renderDuration(duration);
          const what = `${visibleLine(run.skill.name)} ${visibleLine(run.target)}`;
          return [run.id, `${run.state.padEnd(10)} ${when}  ${took.padEnd(6)} ${what}`];
        });
        io.out(`${columns(rows).join('\n')}\n`);
      }
      return EXIT.ok;
    }),
};

export const execShow: Command = {
  name: 'exec show',
  summary: 'Show a run and its result.',
  args: [ID],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const record = await skillbox.getRun(input.args[0] ?? '');
      io.out(
        input.flag('json')
          ? `${JSON.stringify(await toJson(record, skillbox), null, 2)}\n`
          : renderResult(record, io.paint),
      );
      return EXIT.ok;
    }),
};

export const execLogs: Command = {
  name: 'exec logs',
  summary: 'Print what a run printed, in order.',
  args: [ID],
  options: {
    follow: { help: 'go on until the run ends', short: 'f' },
    json: { help: 'print one JSON object per piece' },
  },
  examples: ['skillbox exec logs 06 --follow'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const { id } = await skillbox.getRun(input.args[0] ?? '');
      const decode = createDecoder();
      for (let offset = 0; ; ) {
        const ended = isEnded((await skillbox.getRun(id)).state);
        const { entries, offset: next } = await skillbox.readLogs(id, offset);
        for (const { stream, timeMs, bytes } of entries) {
          const text = decode(stream, bytes);
          if (input.flag('json')) io.out(`${JSON.stringify({ stream, time: new Date(timeMs).toISOString(), text })}\n`);
          else if (stream === 'stdout') io.out(visible(text));
          else io.err(visible(text));
        }
        if (next === offset && (ended || !input.flag('follow') || io.interrupt.aborted)) return EXIT.ok;
        if (next === offset) await sleep(FOLLOW_MS);
        offset = next;
      }
    }),
};

export const execCancel: Command = {
  name: 'exec cancel',
  summary: 'Ask a run to end: its processes get SIGTERM, and SIGKILL after a grace.',
  args: [ID],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const asked = await skillbox.cancelRun(input.args[0] ?? '');
      if (input.flag('json')) io.out(`${JSON.stringify({ canceled: asked })}\n`);
      else io.out(asked ? 'asked to end\n' : 'the run has ended already\n');
      return EXIT.ok;
    }),
};
