import type { Answer, GivenAnswer, RunRecord } from '../../app.ts';
import { localActor, sandboxOf } from '../../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import { type Config, loadConfig } from '../../config/index.ts';
import { isPerson, replyFrom } from '../approval-prompt.ts';
import { type Argument, type Command, columns, type Input, type Option } from '../command.ts';
import { SANDBOX_OPTION, withSkillbox } from '../connect.ts';
import { download, downloadTarget } from '../download.ts';
import { followRun, reportRun } from '../follow-run.ts';
import type { Io } from '../io.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';
import { renderQuestion } from '../render-question.ts';
import { toSummary } from '../run-result.ts';

const RUN: Argument = {
  name: 'ID',
  help: 'the id of a waiting run, or the beginning of it',
  required: true,
  many: false,
};
const JSON_OPTION: Option = { help: 'print one JSON document' };
const MAX_LISTED = 1000;

export const approveList: Command = {
  name: 'approve list',
  summary: 'List the runs that wait for an answer, and the answers that stand.',
  args: [],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: orOnServer(listHere, async () => (await import('../remote/approve.ts')).listThere),
};

function listHere(input: Input, io: Io, config: Config): Promise<number> {
  return withSkillbox(
    io,
    async skillbox => {
      const waiting = await skillbox.listRuns({ states: ['waiting'], limit: MAX_LISTED });
      const answers = (await skillbox.approvals.answers()).filter(standsFor);
      if (input.flag('json')) {
        const document = { waiting: waiting.map(toWaiting), answers: answers.map(toAnswer) };
        io.out(`${JSON.stringify(document, null, 2)}\n`);
        return EXIT.ok;
      }
      if (waiting.length + answers.length === 0) io.err('Nothing waits for an answer, and no answer stands.\n');
      if (waiting.length > 0) io.out(`${['waiting', ...columns(waiting.map(waitingRow))].join('\n')}\n`);
      if (answers.length > 0) io.out(`${['answers', ...columns(answers.map(answerRow))].join('\n')}\n`);
      return EXIT.ok;
    },
    { config },
  );
}

export const approveShow: Command = {
  name: 'approve show',
  summary: 'Show what a waiting run asks, as it stands now.',
  args: [RUN],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: orOnServer(showHere, async () => (await import('../remote/approve.ts')).showThere),
};

/** In the sandbox that it was asked for: in another one its surroundings are others, and the answer would be to something else. */
function sandboxFor(input: Input, io: Io, config: Config): Promise<string | null> {
  return withSkillbox(io, async skillbox => sandboxOf(await skillbox.getRun(input.args[0] ?? '')), { config });
}

async function showHere(input: Input, io: Io, config: Config): Promise<number> {
  const sandbox = await sandboxFor(input, io, config);
  return withSkillbox(
    io,
    async skillbox => {
      const id = input.args[0] ?? '';
      const question = await skillbox.approvals.question(id);
      const { id: run } = await skillbox.getRun(id);
      if (input.flag('json')) io.out(`${JSON.stringify({ execution_id: run, ...question }, null, 2)}\n`);
      else {
        io.out(`${renderQuestion(question, io.columns, io.paint, Number.POSITIVE_INFINITY)}\n`);
        io.out(`skillbox approve allow ${run} runs it; skillbox approve deny ${run} ends it.\n`);
      }
      return EXIT.ok;
    },
    { config, sandbox },
  );
}

export const approveAllow: Command = {
  name: 'approve allow',
  summary: 'Allow a waiting run: it starts here and now, from the copy that was asked for.',
  args: [RUN],
  options: {
    always: { help: 'also later, as long as nothing of it changes' },
    sandbox: SANDBOX_OPTION,
    download: { help: 'write the files of the run here', value: 'DIR' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: [],
  run: orOnServer(
    (input, io, config) => answer(input, io, config, input.flag('always') ? 'always' : 'once'),
    async () => (await import('../remote/approve.ts')).allowThere,
    { patient: true },
  ),
};

export const approveDeny: Command = {
  name: 'approve deny',
  summary: 'Deny a waiting run: it ends without having started.',
  args: [RUN],
  options: { always: { help: 'never ask again for this content' }, ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: orOnServer(
    (input, io, config) => answer(input, io, config, input.flag('always') ? 'deny-always' : 'deny'),
    async () => (await import('../remote/approve.ts')).denyThere,
  ),
};

export const approveRevoke: Command = {
  name: 'approve revoke',
  summary: 'Take back an answer: what it was about is asked again.',
  args: [{ name: 'ID', help: 'the id of an answer, or the beginning of it', required: true, many: false }],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: orOnServer(revokeHere, async () => (await import('../remote/approve.ts')).revokeThere),
};

function revokeHere(input: Input, io: Io, config: Config): Promise<number> {
  return withSkillbox(
    io,
    async skillbox => {
      const wanted = input.args[0] ?? '';
      const found = (await skillbox.approvals.answers()).find(({ id }) => id.startsWith(wanted));
      // Taking back a no widens: whoever may not say yes here may not do that either.
      if (found?.answer === 'deny-always') requirePerson(io, 'take back a "deny always"');
      const taken = await skillbox.approvals.revoke(wanted, { id: localActor().id, channel: 'cli' });
      if (input.flag('json')) io.out(`${JSON.stringify(toAnswer(taken), null, 2)}\n`);
      else
        io.out(
          `taken back: ${taken.answer} for ${visibleLine(taken.skill.name)} ${visibleLine(taken.bound.target.name)}\n`,
        );
      return EXIT.ok;
    },
    { config },
  );
}

export const approveReset: Command = {
  name: 'approve reset',
  summary: 'Forget every answer: the way out when their record cannot be relied on.',
  args: [],
  options: {
    tenant: { help: 'the answers of this tenant, on the machine of the server', value: 'T' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: [],
  run: orOnServer(resetHere, async () => () => Promise.reject(notThere())),
};

async function resetHere(input: Input, io: Io, own: Config): Promise<number> {
  const tenant = input.value('tenant');
  const config = tenant === null ? own : loadConfig({ env: io.env, role: 'server' });
  return withSkillbox(
    io,
    async skillbox => {
      requirePerson(io, 'forget every answer');
      const by = { id: localActor().id, channel: 'terminal' } as const;
      await (tenant === null ? skillbox.approvals.reset(by) : skillbox.resetTenant(tenant, by));
      if (input.flag('json')) io.out(`${JSON.stringify({ reset: true })}\n`);
      else io.out(`every answer${tenant === null ? '' : ` of ${tenant}`} is forgotten; everything is asked again\n`);
      return EXIT.ok;
    },
    { config },
  );
}

/** A key that may approve does not make a tenant forget what others denied. */
function notThere(): SkillboxError {
  return new SkillboxError('USAGE', 'the answers of a server are forgotten on its own machine', {
    hint: 'There, without --server and SKILLBOX_SERVER_URL: skillbox approve reset --tenant NAME.',
  });
}

function requirePerson(io: Io, what: string): void {
  if (isPerson(io)) return;
  throw new SkillboxError('ANSWER_REFUSED', `only a person on a terminal can ${what}`);
}

async function answer(input: Input, io: Io, config: Config, said: Answer): Promise<number> {
  const allows = said === 'once' || said === 'always';
  // A plain no needs none: it ends also a run whose sandbox is not there any more.
  const sandbox = said === 'deny' ? null : (input.value('sandbox') ?? (await sandboxFor(input, io, config)));
  return withSkillbox(
    io,
    async skillbox => {
      const json = input.flag('json');
      const target = downloadTarget(input, io);
      const reply = replyFrom(io, said, isPerson(io) ? 'terminal' : 'flag');
      const id = input.args[0] ?? '';
      const record = await followRun(io, json, null, hooks => skillbox.approvals.settle(id, reply, hooks));
      const filesIn = target === null || record.startedAt === null ? null : await download(record, skillbox, target);
      const exit = await reportRun(record, skillbox, json, io, filesIn);
      // Whoever denies has got what they asked for; whoever allows ends as the run does.
      return said === 'deny' || said === 'deny-always' ? EXIT.ok : exit;
    },
    { sandbox, soon: allows, config },
  );
}

/** "Once" is over with its run. */
function standsFor({ answer: said, expiresAt }: GivenAnswer): boolean {
  return (said === 'always' || said === 'deny-always') && (expiresAt === null || expiresAt > Date.now());
}

function toWaiting(record: RunRecord): object {
  return {
    ...toSummary(record),
    decision: record.decision,
    expires_at: record.waiting === null ? null : isoOf(record.waiting.expiresAt),
  };
}

function toAnswer(given: GivenAnswer): object {
  const { id, answer: said, by, channel, skill, bound, place, createdAt, expiresAt, revokedAt } = given;
  return {
    id,
    answer: said,
    by,
    channel,
    skill: { ...skill, dialect: bound.dialect, digest: bound.digest },
    target: bound.target,
    grant: bound.grant,
    place,
    created_at: isoOf(createdAt),
    expires_at: expiresAt === null ? null : isoOf(expiresAt),
    revoked_at: revokedAt === null ? null : isoOf(revokedAt),
  };
}

function waitingRow({ id, skill, target, waiting, decision }: RunRecord): [string, string] {
  const until = waiting === null ? '' : `until ${dayOf(waiting.expiresAt)}`;
  return [id, `${visibleLine(skill.name, 60)} ${visibleLine(target, 60)} (${decision?.trust ?? 'unknown'}) ${until}`];
}

function answerRow({ id, answer: said, skill, bound, expiresAt }: GivenAnswer): [string, string] {
  const until = expiresAt === null ? '' : ` until ${dayOf(expiresAt)}`;
  return [id, `${said} ${visibleLine(skill.name, 60)} ${visibleLine(bound.target.name, 60)}${until}`];
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function dayOf(ms: number): string {
  return `${isoOf(ms).slice(0, 16).replace('T', ' ')} UTC`;
}
