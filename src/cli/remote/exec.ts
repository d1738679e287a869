import { EXIT } from '../../base/index.ts';
import type { Run, Service } from '../../service/index.ts';
import { downloadTarget } from '../download.ts';
import { printPiece, readRunFilter, showCanceled, showRuns } from '../exec-report.ts';
import { orInterrupted } from '../interrupted.ts';
import type { OnServer } from '../on-server.ts';
import { renderResult } from '../run-result.ts';
import { findId, findRun } from './find-run.ts';
import { fetchFiles } from './run.ts';
import { remoteJson } from './run-report.ts';
import { sameServer } from './same-server.ts';

export const listRuns: OnServer = async ({ runs }, input, io) => {
  const { states, limit } = readRunFilter(input);
  const found: Run[] = [];
  for (let after: string | null = null; found.length < limit; ) {
    const page: Awaited<ReturnType<Service['runs']['list']>> = await runs.list({
      states,
      skill: null,
      since: null,
      limit: limit - found.length,
      after,
    });
    found.push(...page.items);
    after = page.next;
    if (after === null) break;
  }
  return showRuns(found, input, io);
};

export const showRun: OnServer = async (service, input, io) => {
  const run = await findRun(service, input.args[0] ?? '');
  const target = downloadTarget(input, io);
  const filesIn = target === null ? null : await fetchFiles(service, run, target);
  if (input.flag('json')) io.out(`${JSON.stringify(await remoteJson(service, run), null, 2)}\n`);
  else io.out(renderResult(run, io.paint, filesIn, sameServer(input)));
  return EXIT.ok;
};

export const printLogs: OnServer = async (service, input, io) => {
  const { id } = await orInterrupted(findRun(service, input.args[0] ?? ''), io);
  if (input.flag('follow')) {
    const following = service.runs.follow(id, { offset: 0, signal: io.interrupt });
    for await (const event of following) if (event.kind === 'log') printPiece(event.line, input, io);
    return EXIT.ok;
  }
  for (let offset = 0; ; ) {
    const part = await orInterrupted(service.runs.logs(id, offset), io);
    for (const line of part.lines) printPiece(line, input, io);
    if (part.complete || part.offset === offset) return EXIT.ok;
    offset = part.offset;
  }
};

export const cancelRun: OnServer = async (service, input, io) => {
  const id = await findId(service, input.args[0] ?? '');
  return showCanceled(await service.runs.cancel(id), input, io);
};
