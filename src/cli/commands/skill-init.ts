import { join, resolve } from 'node:path';
import { EXIT, SkillboxError } from '../../base/index.ts';
import {
  checkName,
  DEFAULT_DESCRIPTION,
  type InitFile,
  type InitWish,
  initFiles,
  readSkill,
} from '../../dialects/index.ts';
import { DIALECTS, type DialectName, openDirectory } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { showPath, writeFolder } from '../write-folder.ts';

export const skillInit: Command = {
  name: 'skill init',
  summary:
    'Write a new skill that lints clean and, where its dialect runs, runs. Asks on a terminal when no NAME is given.',
  args: [{ name: 'NAME', help: 'the name of the skill and of its folder', required: false, many: false }],
  options: {
    dialect: { help: 'the format', value: 'D', choices: DIALECTS },
    description: { help: 'what the skill does and when to use it', value: 'TEXT' },
    dir: { help: 'where the folder is made; default: here', value: 'DIR' },
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox skill init word-count', 'skillbox skill init word-count --dialect skillbox --dir skills'],
  run,
};

const DEFAULT_DIALECT: DialectName = 'agent-skills';

async function run(input: Input, io: Io): Promise<number> {
  const wish = await askFor(input, io);
  const files = initFiles(wish);
  const path = join(resolve(io.cwd, input.value('dir') ?? '.'), wish.name);
  await writeFolder(path, files.map(toWrite), async written => checkResult(written));
  const paths = files.map(file => file.path);
  if (input.flag('json')) {
    io.out(`${JSON.stringify({ path, name: wish.name, dialect: wish.dialect, files: paths }, null, 2)}\n`);
    return EXIT.ok;
  }
  const shown = showPath(path, io.cwd);
  io.out(`${io.paint('green', '✔')} ${io.paint('bold', shown)} ${io.paint('dim', `(${wish.dialect})`)}\n`);
  for (const file of paths) io.out(`  ${file}\n`);
  io.err(`Next: skillbox skill show ${shown}\n`);
  return EXIT.ok;
}

function toWrite({ path, text, executable }: InitFile) {
  return { path, executable, content: text };
}

async function askFor(input: Input, io: Io): Promise<InitWish> {
  const dialect = input.value('dialect') as DialectName | null;
  const description = input.value('description');
  const [name] = input.args;
  if (name !== undefined) {
    return { name, dialect: dialect ?? DEFAULT_DIALECT, description: description ?? DEFAULT_DESCRIPTION };
  }
  // A document for a program is not the place for questions to a person.
  if (!io.interactive || input.flag('json')) {
    throw new SkillboxError('USAGE', 'NAME is missing', { hint: 'usage: skillbox skill init NAME [options]' });
  }
  return {
    name: await askName(io),
    dialect: dialect ?? (await askDialect(io)),
    description: description ?? (await io.ask('Description:', DEFAULT_DESCRIPTION)),
  };
}

async function askName(io: Io): Promise<string> {
  for (;;) {
    const name = await io.ask('Name of the skill:', 'word-count');
    try {
      checkName(name);
      return name;
    } catch (error) {
      // A person can be asked again; anything but a bad name is not his fault.
      if (!(error instanceof SkillboxError)) throw error;
      io.err(`${error.message}. ${error.hint}\n`);
    }
  }
}

async function askDialect(io: Io): Promise<DialectName> {
  for (;;) {
    const answer = await io.ask(`Dialect, one of ${DIALECTS.join(', ')}:`, DEFAULT_DIALECT);
    const dialect = DIALECTS.find(name => name === answer);
    if (dialect !== undefined) return dialect;
    io.err(`${JSON.stringify(answer)} is none of them.\n`);
  }
}

/** The templates lint clean, so what is found comes from the given words; then nothing is left behind. */
function checkResult(path: string): void {
  const folder = openDirectory(path);
  try {
    const { diagnostics } = readSkill(folder, { mode: 'strict', dialect: null });
    const problem = diagnostics.find(({ severity }) => severity !== 'info');
    if (problem === undefined) return;
    throw new SkillboxError('USAGE', `the skill would not lint clean: ${problem.message}`, { hint: problem.hint });
  } finally {
    folder.close();
  }
}
