import { resolve } from 'node:path';
import { EXIT, visibleLine } from '../../base/index.ts';
import {
  type Activation,
  activateSkill,
  activationEvent,
  TOKEN_COUNTS,
  type TokenCount,
  tokenCounter,
} from '../../catalog/index.ts';
import type { Config } from '../../config/index.ts';
import { digestFolder, openFolder } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { DIR_OPTION, localSkills, skillByName } from '../local-skills.ts';
import { orOnServer, SERVER_OPTION } from '../on-server.ts';

export const activate: Command = {
  name: 'activate',
  summary: 'Print what a model reads of a skill once it has chosen it.',
  args: [
    {
      name: 'NAME|PATH',
      help: 'a skill of the catalog, or a path with a slash in it; on a server NAME[@VERSION]',
      required: true,
      many: false,
    },
  ],
  options: {
    dir: DIR_OPTION,
    tokens: { help: 'how tokens are counted', value: 'HOW', choices: TOKEN_COUNTS },
    ...SERVER_OPTION,
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox activate code-review', 'skillbox activate ./my-skill --json'],
  run: orOnServer(run, async () => (await import('../remote/catalog.ts')).activateThere),
};

async function run(input: Input, io: Io, config: Config): Promise<number> {
  const word = input.args[0] ?? '';
  const count = await tokenCounter((input.value('tokens') ?? 'estimate') as TokenCount);
  const path = /[/\\]|^\.{1,2}$/.test(word)
    ? resolve(io.cwd, word)
    : skillByName(word, localSkills(io, input.values('dir'))).folder;
  const folder = await openFolder(path);
  try {
    const activation = activateSkill(folder, { count });
    const event = activationEvent(activation, await digestFolder(folder), 'skillbox activate');
    // AS-14: before the text is given; where it cannot be written, nothing is given.
    await withSkillbox(io, skillbox => skillbox.note(event), { config });
    if (input.flag('json')) io.out(`${JSON.stringify(toJson(activation), null, 2)}\n`);
    else print(activation, io);
    return EXIT.ok;
  } finally {
    folder.close();
  }
}

function print({ text, removedCharacters, defusedTags, name }: Activation, io: Io): void {
  io.out(text);
  const shown = visibleLine(name, 64);
  if (removedCharacters > 0) io.err(`${shown}: ${removedCharacters} hidden characters were removed.\n`);
  if (defusedTags > 0) io.err(`${shown}: ${defusedTags} tags that could end the element were made plain text.\n`);
}

function toJson(activation: Activation): object {
  const { name, dialect, directory, server, instructions, references, files, tokens, text, fingerprint } = activation;
  return {
    name,
    dialect,
    directory,
    server,
    instructions,
    references,
    files,
    files_left_out: activation.filesLeftOut,
    removed_characters: activation.removedCharacters,
    defused_tags: activation.defusedTags,
    tokens,
    text,
    fingerprint,
  };
}
