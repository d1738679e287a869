import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import type { Answer, GivenAnswer, Run, Service } from '../../service/index.ts';
import { columns, type Input } from '../command.ts';
import { downloadTarget } from '../download.ts';
import { orInterrupted } from '../interrupted.ts';
import type { Io } from '../io.ts';
import type { OnServer } from '../on-server.ts';
import { readAll } from '../people.ts';
import { renderQuestion } from '../render-question.ts';
import { renderResult, resultJson, toSummary } from '../run-result.ts';
import { findWaiting } from './find-run.ts';
import { onlyHere } from './only-here.ts';
import { toQuestion } from './question.ts';
import { fetchFiles } from './run.ts';
import { followRemote, reportRemote } from './run-report.ts';
import { sameServer } from './same-server.ts';

export const listThere: OnServer = async ({ approvals }, input, io) => {
  const waiting = await readAll(paging => approvals.waiting(paging));
  const answers = (await readAll(paging => approvals.answers(paging))).filter(stands);
  if (input.flag('json')) {
    const document = { waiting: waiting.map(toWaiting), answers: answers.map(toJson) };
    io.out(`${JSON.stringify(document, null, 2)}\n`);
    return EXIT.ok;
  }
  if (waiting.length + answers.length === 0) io.err('Nothing waits for an answer, and no answer stands.\n');
  if (waiting.length > 0) io.out(`${['waiting', ...columns(waiting.map(waitingRow))].join('\n')}\n`);
  if (answers.length > 0) io.out(`${['answers', ...columns(answers.map(answerRow))].join('\n')}\n`);
  return EXIT.ok;
};

export const showThere: OnServer = async (service, input, io) => {
  const id = await findWaiting(service, input.args[0] ?? '');
  const question = await service.approvals.question(id);
  if (input.flag('json')) io.out(`${JSON.stringify({ execution_id: id, ...question }, null, 2)}\n`);
  else {
    io.out(`${renderQuestion(toQuestion(question), io.columns, io.paint, Number.POSITIVE_INFINITY)}\n`);
    const on = sameServer(input);
    io.out(`skillbox approve allow ${id}${on} runs it; skillbox approve deny ${id}${on} ends it.\n`);
  }
  return EXIT.ok;
};

export const allowThere: OnServer = (service, input, io) => {
  if (input.value('sandbox') !== null) throw onlyHere('sandbox', 'runs');
  return answer(service, input, io, input.flag('always') ? 'always' : 'once');
};

export const denyThere: OnServer = (service, input, io) =>
  answer(service, input, io, input.flag('always') ? 'deny-always' : 'deny');

async function answer(service: Service, input: Input, io: Io, said: Answer): Promise<number> {
  const id = await orInterrupted(findWaiting(service, input.args[0] ?? ''), io);
  const json = input.flag('json');
  const target = downloadTarget(input, io);
  const answered = await orInterrupted(service.approvals.answer(id, said), io);
  const run = await followRemote(service, answered, json, io, sameServer(input)).catch(nullIfForbidden);
  if (run === null) return showAnswered(answered, json, io);
  const filesIn = target === null ? null : await fetchFiles(service, run, target);
  const exit = await reportRemote(service, run, json, io, filesIn, sameServer(input));
  // Whoever denies has got what they asked for; whoever allows ends as the run does.
  return said === 'deny' || said === 'deny-always' ? EXIT.ok : exit;
}

/** Who may answer may not always look: the answer has been given all the same. */
function nullIfForbidden(error: unknown): null {
  if (error instanceof SkillboxError && error.code === 'FORBIDDEN') return null;
  throw error;
}

function showAnswered(answered: Run, json: boolean, io: Io): number {
  const nothing = { text: '', truncated: false, filesUrl: null };
  if (json) io.out(`${JSON.stringify(resultJson(answered, nothing), null, 2)}\n`);
  else io.out(renderResult(answered, io.paint));
  if (answered.endedAt === null) io.err('How it ends is for keys with the scope read to see.\n');
  return EXIT.ok;
}

export const revokeThere: OnServer = async ({ approvals }, input, io) => {
  const wanted = input.args[0] ?? '';
  const found = (await readAll(paging => approvals.answers(paging))).filter(({ id }) => id.startsWith(wanted));
  const [only, second] = found;
  if (only === undefined || wanted === '') throw new SkillboxError('NOT_FOUND', `there is no answer "${wanted}"`);
  if (second !== undefined) throw new SkillboxError('USAGE', `several answers begin with "${wanted}"`);
  const taken = await approvals.revoke(only.id);
  if (input.flag('json')) io.out(`${JSON.stringify(toJson(taken), null, 2)}\n`);
  else io.out(`taken back: ${taken.answer} for ${visibleLine(taken.skill.name)} ${visibleLine(taken.target)}\n`);
  return EXIT.ok;
};

/** "Once" is over with its run. */
function stands({ answer: said, expiresAt, revokedAt }: GivenAnswer): boolean {
  if (revokedAt !== null || (said !== 'always' && said !== 'deny-always')) return false;
  return expiresAt === null || expiresAt > Date.now();
}

function toWaiting(run: Run): object {
  return { ...toSummary(run), decision: run.decision, expires_at: null };
}

function toJson({ createdAt, expiresAt, revokedAt, ...given }: GivenAnswer): object {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return { ...given, created_at: iso(createdAt), expires_at: iso(expiresAt), revoked_at: iso(revokedAt) };
}

function waitingRow({ id, skill, target, by, decision }: Run): [string, string] {
  const what = `${visibleLine(skill.name, 60)} ${visibleLine(target, 60)}`;
  return [id, `${what} (${decision?.trust ?? 'unknown'}) asked for by ${visibleLine(by, 60)}`];
}

function answerRow({ id, answer: said, skill, target, expiresAt }: GivenAnswer): [string, string] {
  const until =
    expiresAt === null ? '' : ` until ${new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return [id, `${said} ${visibleLine(skill.name, 60)} ${visibleLine(target, 60)}${until}`];
}
