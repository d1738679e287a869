import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';
import { hiddenBecause, prepareSearch } from '../catalog/index.ts';
import { readSkill } from '../dialects/index.ts';
import { scanSkill } from '../scan/index.ts';
import type { Folder, Skill } from '../skill/index.ts';
import {
  type Check,
  type CheckStep,
  type Contender,
  contendersFor,
  EVALS_FILE,
  type Eval,
  EXAMPLES_FILE,
  judgeAnswer,
  judgeTrigger,
  readEvals,
  readExamples,
  readTriggers,
  TRIGGERS_FILE,
} from '../skilltest/index.ts';
import { interrupted } from './interrupted.ts';
import type { Io } from './io.ts';
import { localSkills } from './local-skills.ts';
import { askModel } from './model-command.ts';
import { plural } from './render-diagnostics.ts';
import { readAllowList } from './scan.ts';
import { withFiles } from './skill-test-folder.ts';

export function checkLint(folder: Folder, path: string, capabilities: readonly string[]): Check {
  const { diagnostics } = readSkill(folder, { mode: 'strict', dialect: null, capabilities });
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first === undefined) return { step: 'lint', name: null, result: 'pass', why: 'no error' };
  const place = `${visibleLine(first.file, 80)}:${first.line}`;
  const why = `${plural(errors.length, 'error')}, first ${place} ${visibleLine(first.message, 160)}`;
  return { step: 'lint', name: null, result: 'fail', why: `${why} (skillbox skill lint ${visibleLine(path, 200)})` };
}

/** High findings fail; what was not looked into is said, and is no proof of anything. */
export async function checkScan(folder: Folder, skill: Skill, path: string, io: Io): Promise<Check> {
  const allow = await readAllowList(null, io, [path]);
  const { findings, notLookedInto } = scanSkill(folder, skill, { allow });
  const high = findings.filter(({ severity }) => severity === 'high');
  const [first] = high;
  const holes = notLookedInto.length === 0 ? '' : `; ${plural(notLookedInto.length, 'file')} not looked into`;
  if (first === undefined) return { step: 'scan', name: null, result: 'pass', why: `nothing high found${holes}` };
  const place = `${visibleLine(first.file, 80)}:${first.line}`;
  const why = `${high.length} high, first ${place} [${first.rule}]${holes} (skillbox skill scan ${visibleLine(path, 200)})`;
  return { step: 'scan', name: null, result: 'fail', why };
}

export async function checkTriggers(folder: Folder, skill: Skill, io: Io): Promise<Check[]> {
  const triggers = readOr('trigger', folder, readTriggers, TRIGGERS_FILE);
  if ('check' in triggers) return [triggers.check];
  const skip = (why: string): Check[] => [{ step: 'trigger', name: null, result: 'skip', why }];
  if (!skill.offer.toModels) return skip('models are not told of this skill');
  if (skill.offer.always) return skip('this skill is shown whatever is asked');
  const { resolution, hidden } = localSkills(io, []);
  const audience = { mode: 'Global' as const, platform: process.platform, hidden };
  const others: Contender[] = resolution.skills.filter(one => hiddenBecause(one, audience) === null);
  const { name, description, offer } = skill;
  const contenders = contendersFor<Contender>({ name, description, offer, folder: folder.origin.path }, others);
  const search = await prepareSearch(contenders);
  return triggers.entries.map(trigger => {
    const wrong = judgeTrigger(trigger, name, search(trigger.query));
    const among = `among ${plural(contenders.length, 'skill')}`;
    const good = trigger.shouldTrigger ? `ranks first ${among}` : `does not rank first ${among}`;
    return { step: 'trigger', name: trigger.query, result: wrong === null ? 'pass' : 'fail', why: wrong ?? good };
  });
}

/** `scanned`: the prompts are the skill's words, and a model may act on them, so a skill that failed its scan is not put to one. */
export async function checkEvals(
  folder: Folder,
  model: [string, ...string[]] | null,
  scanned: Check,
  io: Io,
): Promise<Check[]> {
  const evals = readOr('eval', folder, readEvals, EVALS_FILE);
  if ('check' in evals) return [evals.check];
  const skip = (why: string): Check[] => [{ step: 'eval', name: null, result: 'skip', why }];
  const count = plural(evals.entries.length, 'eval');
  if (model === null) return skip(`${count} not run: --model COMMAND says what answers them`);
  if (scanned.result === 'fail') return skip(`${count} not run: the scan failed, and prompts are the skill's words`);
  return withFiles(folder, path => askEach(evals.entries, model, path, io));
}

async function askEach(evals: readonly Eval[], model: [string, ...string[]], path: string, io: Io): Promise<Check[]> {
  const checks: Check[] = [];
  for (const one of evals) {
    const check = { step: 'eval' as const, name: one.id };
    if (one.mustInclude.length === 0) {
      checks.push({ ...check, result: 'skip', why: 'it has neither expected_output nor must_include' });
      continue;
    }
    const answered = await askModel(model, one.prompt, path, io);
    // Neither the skill nor the model is at fault, and nobody wants the next one asked.
    if (io.interrupt.aborted) throw interrupted();
    const wrong = 'problem' in answered ? answered.problem : judgeAnswer(one, answered.answer);
    checks.push({
      ...check,
      result: wrong === null ? 'pass' : 'fail',
      why: wrong ?? 'the answer has all that it must',
    });
  }
  return checks;
}

/** The entries of a test file, or the one check that stands for them: none there, or a file that does not read. */
export function readOr<T>(
  step: CheckStep,
  folder: Folder,
  read: (folder: Folder) => T[] | null,
  file: string,
): { entries: T[] } | { check: Check } {
  const only = (result: Check['result'], why: string) => ({ check: { step, name: null, result, why } });
  try {
    const entries = read(folder);
    if (entries === null) return only('skip', isLeftOut(folder, file) ? leftOut(file) : `there is no ${file}`);
    return entries.length === 0 ? only('skip', `${file} is empty`) : { entries };
  } catch (error) {
    if (!(error instanceof SkillboxError)) throw error;
    return only('fail', error.message);
  }
}

export const readExamplesOr = (folder: Folder) => readOr('example', folder, readExamples, EXAMPLES_FILE);

/** Whoever has written tests and is told that there are none looks for the fault in the wrong place. */
function isLeftOut({ origin }: Folder, file: string): boolean {
  return origin.kind === 'directory' && existsSync(join(origin.path, file));
}

const leftOut = (file: string) =>
  `${file} is no part of the skill: .skillboxignore leaves it out, or it is not a plain file`;
