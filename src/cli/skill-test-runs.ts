import type { RunRecord, Skillbox } from '../app.ts';
import { type JsonValue, SkillboxError, visibleLine } from '../base/index.ts';
import type { Call } from '../dialects/index.ts';
import { type Ending, type Folder, type Skill, statusOf } from '../skill/index.ts';
import { type Check, type Example, isTooDeep, judgeExample, targetOf } from '../skilltest/index.ts';
import { interrupted } from './interrupted.ts';
import type { Io } from './io.ts';
import { createDecoder, readEntries } from './run-result.ts';

export const HELP_TIMEOUT_MS = 30_000;
const MAX_PRINTED = 1024 ** 2;

/** The subject of a test, as runs need it. */
export type Tested = { skill: Skill; folder: Folder; skillbox: Skillbox; io: Io };

type Verdict = Pick<Check, 'result' | 'why'>;

/** A script that does not know `--help` is none the worse; one that crashes or never ends at it is. */
export async function checkHelp(tested: Tested, path: string, timeoutMs = HELP_TIMEOUT_MS): Promise<Check> {
  const target: Call['target'] = { kind: 'script', path, arguments: ['--help'] };
  const verdict = await runOne(tested, target, {}, timeoutMs, record => {
    const ending = record.ending as Ending;
    if (ending.kind === 'exited') {
      const known = ending.code === 0;
      return { result: 'pass', why: known ? 'answers --help' : `note: --help ends with code ${ending.code}` };
    }
    // What it wrote is no matter here: nobody asked it for anything.
    if (ending.kind === 'bad-output') return { result: 'pass', why: 'note: --help leaves output that is not JSON' };
    return { result: 'fail', why: `--help ${describe(record)}` };
  });
  return { step: 'help', name: path, ...verdict };
}

export async function checkExample(tested: Tested, example: Example, name: string): Promise<Check> {
  const verdict = await runOne(
    tested,
    () => targetOf(tested.skill, example),
    example.input ?? {},
    null,
    async record => {
      const { status } = statusOf(record.ending as Ending);
      const happened = {
        status,
        exitCode: record.exitCode,
        output: record.output ?? (await printed(tested.skillbox, record.id)),
      };
      const wrong = judgeExample(example, happened);
      if (wrong === null) return { result: 'pass', why: 'as expected' };
      return { result: 'fail', why: `${wrong} (skillbox exec show ${record.id})` };
    },
  );
  return { step: 'example', name, ...verdict };
}

/** With the least power that a run can have: no workspace, no variable of the caller's, and nobody who says yes to it. */
async function runOne(
  { skill, folder, skillbox, io }: Tested,
  target: Call['target'] | (() => Call['target']),
  input: JsonValue,
  timeoutMs: number | null,
  judge: (record: RunRecord) => Verdict | Promise<Verdict>,
): Promise<Verdict> {
  if (io.interrupt.aborted) throw interrupted();
  try {
    const call = {
      target: typeof target === 'function' ? target() : target,
      input,
      stdin: null,
      mode: 'Global' as const,
    };
    const request = { skill, folder, call: { ...call, callerEnv: {} }, env: {}, workspace: null, timeoutMs };
    const nothing = () => undefined;
    const hooks = { signal: io.interrupt, onState: nothing, onChunk: nothing, onBuild: nothing, ask: null };
    const record = await skillbox.run(request, hooks);
    // How it ended then says nothing of the skill.
    if (io.interrupt.aborted) throw interrupted();
    if (record.state === 'waiting') return await skipWaiting(record, skillbox, folder);
    const { kind } = record.ending as Ending;
    if (kind === 'denied') return { result: 'skip', why: `not run: ${describe(record)}` };
    return await judge(record);
  } catch (error) {
    if (!(error instanceof SkillboxError) || io.interrupt.aborted) throw error;
    const why = `${visibleLine(error.message, 300)} [${error.code}]`;
    // The skill is not at fault for a program that this machine lacks. A sandbox that fails is never passed over.
    return { result: error.code === 'RUNTIME_MISSING' ? 'skip' : 'fail', why };
  }
}

async function skipWaiting(record: RunRecord, skillbox: Skillbox, folder: Folder): Promise<Verdict> {
  if (record.decision?.trust === 'untrusted') {
    // Each run of it would be asked about, this time and the next: one word about the source settles them all.
    await skillbox.cancelRun(record.id);
    const place = visibleLine(folder.origin.path, 400);
    return { result: 'skip', why: `nobody vouches for it; if you do: skillbox trust add ${place}` };
  }
  const why = `it waits for an answer: skillbox approve allow ${record.id} (--always: the next test need not ask)`;
  return { result: 'skip', why };
}

function describe({ ending, error }: RunRecord): string {
  const { kind } = ending as Ending;
  return `${kind}${error === null ? '' : `: ${visibleLine(error.message, 200)}`}`;
}

/** What a script without an output file says is what it prints: JSON where it is that, and text otherwise. */
async function printed(skillbox: Skillbox, id: string): Promise<JsonValue> {
  const decode = createDecoder();
  let text = '';
  for await (const { stream, bytes } of readEntries(skillbox, id)) {
    if (stream === 'stdout') text += decode(stream, bytes);
    if (text.length > MAX_PRINTED) break;
  }
  // Blanks at the end are part of what an author may expect; the line break is that of `echo`.
  const plain = text.replace(/\r?\n$/, '');
  try {
    const value = JSON.parse(text) as JsonValue;
    return isTooDeep(value) ? plain : value;
  } catch {
    return plain;
  }
}
