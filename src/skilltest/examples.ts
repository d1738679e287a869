import type { JsonObject, JsonValue } from '../base/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { Call } from '../dialects/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import { type Entry, readList } from './read-list.ts';
import { difference } from './subset.ts';

export const EXAMPLES_FILE = 'evals/examples.json';

/** A call that the skill's author wrote down, with what should come of it. */
export type Example = {
  /** A tool, or a script by its path; null: the only one, or the entrypoint. */
  target: string | null;
  input: JsonValue | undefined;
  args: string[];
  params: JsonObject;
  expect: { status: string; exitCode: number | null; output: JsonValue | undefined };
};

/** How a run went, as far as an example can speak of it. */
export type Happened = { status: string; exitCode: number | null; output: JsonValue };

const STATUSES = ['success', 'failed', 'timeout'];

export function readExamples(folder: Folder): Example[] | null {
  const fields = ['target', 'input', 'args', 'params', 'expect'];
  return readList(folder, EXAMPLES_FILE, fields)?.map(toExample) ?? null;
}

function toExample(entry: Entry): Example {
  const expect = entry.inner('expect', ['status', 'exit_code', 'output']);
  if (expect === null) throw entry.fault('"expect" is missing');
  const status = expect.text('status');
  if (status !== null && !STATUSES.includes(status))
    throw expect.fault(`"status" must be one of ${STATUSES.join(', ')}`);
  const exitCode = expect.value('exit_code');
  if (exitCode !== undefined && !isExitCode(exitCode)) throw expect.fault('"exit_code" must be a number from 0 to 255');
  return {
    target: entry.text('target'),
    input: entry.value('input'),
    args: entry.texts('args') ?? [],
    params: entry.object('params') ?? {},
    expect: {
      // An example that asks for a code other than 0 asks for a failure; one that says nothing, for a success.
      status: status ?? (exitCode === undefined || exitCode === 0 ? 'success' : 'failed'),
      exitCode: exitCode ?? null,
      output: expect.value('output'),
    },
  };
}

function isExitCode(value: JsonValue): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;
}

/** What an example calls; one that would leave a field unused is refused, for it does not test what it says. */
export function targetOf(skill: Skill, { target, input, args, params }: Example): Call['target'] {
  const refuse = (what: string) => {
    throw new SkillboxError('INVALID_EVALS', `${EXAMPLES_FILE}: ${what}`);
  };
  if (skill.dialect !== 'gibberish' && Object.keys(params).length > 0) refuse(`"params" are for tools`);
  if (skill.dialect === 'gibberish') {
    if (args.length > 0 || input !== undefined) refuse('a tool takes "params" only');
    const name = target ?? (skill.tools.length === 1 ? (skill.tools[0]?.name ?? null) : null);
    if (name === null) refuse('"target" must name a tool');
    return { kind: 'tool', name: name ?? '', arguments: params };
  }
  const only = skill.scripts.length === 1 ? (skill.scripts[0]?.path ?? null) : null;
  const path = target ?? (skill.main === null ? only : null);
  // As with `skillbox run`: an entrypoint's dialect gives its scripts the input, too.
  const unread = skill.dialect === 'workspace' || skill.dialect === 'agent-skills';
  if (unread && input !== undefined) refuse('a script takes "args", not "input"');
  if (path !== null) return { kind: 'script', path, arguments: args };
  if (skill.main === null) refuse('"target" must name a script');
  if (args.length > 0) refuse('an entrypoint takes "input", not "args"');
  return { kind: 'main' };
}

/** What is not as the example says; null when all is. */
export function judgeExample({ expect }: Example, happened: Happened): string | null {
  if (happened.status !== expect.status) return `it ended as ${happened.status}, not ${expect.status}`;
  if (expect.exitCode !== null && happened.exitCode !== expect.exitCode) {
    return `its exit code is ${happened.exitCode ?? 'none'}, not ${expect.exitCode}`;
  }
  return expect.output === undefined ? null : difference(expect.output, happened.output);
}
