import { resolve } from 'node:path';
import { EXIT, visible, visibleLine } from '../../base/index.ts';
import { readSkill } from '../../dialects/index.ts';
import { type Folder, openFolder, type Skill } from '../../skill/index.ts';
import { type Check, countChecks } from '../../skilltest/index.ts';
import type { Command, Input } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { modelWords } from '../model-command.ts';
import { ownCapabilities } from '../own-capabilities.ts';
import { checkEvals, checkLint, checkScan, checkTriggers, readExamplesOr } from '../skill-test.ts';

export const skillTest: Command = {
  name: 'skill test',
  summary:
    'Test a skill: lint, scan, --help of every script in the sandbox, and what its evals/ folder says of examples, queries and answers. Exit 1 when something fails.',
  args: [{ name: 'DIR', help: 'the folder of a skill, or its zip', required: true, many: false }],
  options: {
    model: {
      help: 'the command that answers evals/evals.json: prompt on its standard input, answer on its standard output; no shell reads it',
      value: 'COMMAND',
    },
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox skill test ./my-skill', 'skillbox skill test ./my-skill --model ./ask-my-model.sh'],
  run,
};

type Report = { path: string; skill: Skill | null; checks: Check[] };

async function run(input: Input, io: Io): Promise<number> {
  const path = input.args[0] ?? '.';
  const model = input.value('model');
  const words = model === null ? null : modelWords(model);
  const tell = input.flag('json') ? () => undefined : (check: Check) => print(check, io);
  const folder = await openFolder(resolve(io.cwd, path));
  try {
    const report = await test(folder, path, words, io, tell);
    const counts = countChecks(report.checks);
    if (input.flag('json')) io.out(`${JSON.stringify(toJson(report), null, 2)}\n`);
    else io.out(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
    if (report.skill === null) return EXIT.invalidSkill;
    return counts.failed === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    folder.close();
  }
}

/** One snapshot for all steps: what was linted and scanned is what runs. Each check is told as soon as it is known. */
async function test(
  folder: Folder,
  path: string,
  model: [string, ...string[]] | null,
  io: Io,
  tell: (check: Check) => void,
): Promise<Report> {
  const checks: Check[] = [];
  const add = (...some: Check[]) => {
    for (const check of some) {
      checks.push(check);
      tell(check);
    }
  };
  add(checkLint(folder, path, await ownCapabilities(io)));
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill === null) return { path, skill, checks };
  const scanned = await checkScan(folder, skill, path, io);
  add(scanned);
  await testRuns(folder, skill, io, add);
  add(...(await checkTriggers(folder, skill, io)));
  add(...(await checkEvals(folder, model, scanned, io)));
  return { path, skill, checks };
}

async function testRuns(folder: Folder, skill: Skill, io: Io, add: (check: Check) => void): Promise<void> {
  const examples = readExamplesOr(folder);
  const scripts = askedForHelp(skill);
  if (scripts.length === 0) {
    add({ step: 'help', name: null, result: 'skip', why: 'there is no script that is called with arguments' });
  }
  // Whoever has nothing to run needs no sandbox.
  if (scripts.length > 0 || 'entries' in examples) {
    await withSkillbox(
      io,
      async skillbox => {
        const { checkExample, checkHelp } = await import('../skill-test-runs.ts');
        const tested = { skill, folder, skillbox, io };
        for (const { path } of scripts) add(await checkHelp(tested, path));
        if ('check' in examples) return;
        for (const [index, example] of examples.entries.entries()) {
          const name = example.target === null ? `${index + 1}` : `${index + 1} ${example.target}`;
          add(await checkExample(tested, example, name));
        }
      },
      { soon: true },
    );
  }
  if ('check' in examples) add(examples.check);
}

/** An entrypoint takes an input and no arguments: it would not see the question. What only tools call has no caller here. */
function askedForHelp(skill: Skill): Skill['scripts'] {
  return skill.dialect === 'gibberish' ? [] : skill.scripts.filter(({ path }) => path !== skill.main?.path);
}

const MARKS = { pass: ['green', '✔'], fail: ['red', '✖'], skip: ['yellow', '–'] } as const;

function print({ step, name, result, why }: Check, io: Io): void {
  const [style, mark] = MARKS[result];
  const what = name === null ? step : `${step} ${visibleLine(name, 80)}`;
  io.out(
    `${io.paint(style, mark)} ${io.paint('bold', what)}: ${result === 'skip' ? 'skipped, ' : ''}${visible(why)}\n`,
  );
}

function toJson({ path, skill, checks }: Report): object {
  const { passed, failed, skipped } = countChecks(checks);
  return {
    path,
    dialect: skill?.dialect ?? null,
    name: skill?.name ?? null,
    ok: skill !== null && failed === 0,
    checks,
    summary: { passed, failed, skipped },
  };
}
