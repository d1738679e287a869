import { setTimeout as sleep } from 'node:timers/promises';
import { isEnded, RUN_STATES } from '../../app.ts';
import { EXIT } from '../../base/index.ts';
import type { Config } from '../../config/index.ts';
import type { Argument, Command, Input, Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import { download, downloadTarget } from '../download.ts';
import { printPiece, readRunFilter, showCanceled, showRuns } from '../exec-report.ts';
import type { Io } from '../io.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';
import { createDecoder, renderResult, toJson } from '../run-result.ts';

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
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox exec list --state failed'],
  run: orOnServer(
    (input, io, config) =>
      withSkillbox(io, async skillbox => showRuns(await skillbox.listRuns(readRunFilter(input)), input, io), {
        config,
      }),
    async () => (await import('../remote/exec.ts')).listRuns,
  ),
};

export const execShow: Command = {
  name: 'exec show',
  summary: 'Show a run and its result, or fetch its files.',
  args: [ID],
  options: { download: { help: 'write the files of the run here', value: 'DIR' }, ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox exec show 06 --download report'],
  run: orOnServer(
    (input, io, config) =>
      withSkillbox(
        io,
        async skillbox => {
          const record = await skillbox.getRun(input.args[0] ?? '');
          const target = downloadTarget(input, io);
          const filesIn = target === null ? null : await download(record, skillbox, target);
          io.out(
            input.flag('json')
              ? `${JSON.stringify(await toJson(record, skillbox), null, 2)}\n`
              : renderResult(record, io.paint, filesIn),
          );
          return EXIT.ok;
        },
        { config },
      ),
    async () => (await import('../remote/exec.ts')).showRun,
  ),
};

export const execLogs: Command = {
  name: 'exec logs',
  summary: 'Print what a run printed, in order.',
  args: [ID],
  options: {
    follow: { help: 'go on until the run ends', short: 'f' },
    ...SERVER_OPTION,
    json: { help: 'print one JSON object per piece' },
  },
  examples: ['skillbox exec logs 06 --follow'],
  run: orOnServer(printLogs, async () => (await import('../remote/exec.ts')).printLogs, { patient: true }),
};

export const execCancel: Command = {
  name: 'exec cancel',
  summary: 'Ask a run to end: its processes get SIGTERM, and SIGKILL after a grace.',
  args: [ID],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: orOnServer(
    (input, io, config) =>
      withSkillbox(io, async skillbox => showCanceled(await skillbox.cancelRun(input.args[0] ?? ''), input, io), {
        config,
      }),
    async () => (await import('../remote/exec.ts')).cancelRun,
  ),
};

function printLogs(input: Input, io: Io, config: Config): Promise<number> {
  return withSkillbox(
    io,
    async skillbox => {
      const { id } = await skillbox.getRun(input.args[0] ?? '');
      const decode = createDecoder();
      for (let offset = 0; ; ) {
        const ended = isEnded((await skillbox.getRun(id)).state);
        const { entries, offset: next } = await skillbox.readLogs(id, offset);
        for (const { stream, timeMs, bytes } of entries)
          printPiece({ stream, timeMs, text: decode(stream, bytes) }, input, io);
        if (next === offset && (ended || !input.flag('follow') || io.interrupt.aborted)) return EXIT.ok;
        if (next === offset) await sleep(FOLLOW_MS);
        offset = next;
      }
    },
    { config },
  );
}
