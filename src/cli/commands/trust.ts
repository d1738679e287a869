import type { TrustWord } from '../../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import { isAgent } from '../approval-prompt.ts';
import { type Argument, type Command, columns, type Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';

const WHAT: Argument = {
  name: 'PATH|@PUBLISHER',
  help: 'a folder, an archive, or a publisher with @ before its name',
  required: true,
  many: false,
};
const JSON_OPTION: Option = { help: 'print one JSON document' };

export const trustAdd: Command = {
  name: 'trust add',
  summary: 'Vouch for a folder and all that lies in it, for one archive, or for a publisher.',
  args: [WHAT],
  options: { json: JSON_OPTION },
  examples: ['skillbox trust add ./skills', 'skillbox trust add @acme'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      // Who wants a skill to run must not be the one who vouches for it.
      if (isAgent(io))
        throw new SkillboxError('ANSWER_REFUSED', 'an agent cannot vouch for a skill', {
          hint: `Type it yourself: skillbox trust add ${visibleLine(input.args[0] ?? '')}`,
        });
      const { word, added } = await skillbox.trust.add(input.args[0] ?? '', io.cwd);
      if (input.flag('json')) io.out(`${JSON.stringify({ ...word, added })}\n`);
      else io.out(`${shown(word)} ${added ? 'is trusted now' : 'was trusted already'}\n`);
      return EXIT.ok;
    }),
};

export const trustList: Command = {
  name: 'trust list',
  summary: 'List what you trust beside your own skill directories.',
  args: [],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const { entries, fault } = skillbox.trust.list();
      const own = skillbox.trust.own;
      if (input.flag('json')) io.out(`${JSON.stringify({ trusted: entries, own, fault }, null, 2)}\n`);
      else {
        if (entries.length > 0) {
          const rows = entries.map((entry): [string, string] => [
            shown(entry),
            `since ${new Date(entry.addedAt).toISOString().slice(0, 10)}`,
          ]);
          io.out(`${columns(rows).join('\n')}\n`);
        } else if (fault === null) io.err('You have trusted nothing by name yet.\n');
        io.err(`Your own skills are in ${own.map(path => visibleLine(path)).join(', ')}.\n`);
      }
      if (fault === null) return EXIT.ok;
      throw new SkillboxError('UNREADABLE', `the list of what you trust cannot be used: ${fault}`, {
        hint: 'Nothing in it is trusted meanwhile. Mend trust.json in the data directory, or remove it.',
      });
    }),
};

export const trustRemove: Command = {
  name: 'trust remove',
  summary: 'Vouch for something no longer.',
  args: [WHAT],
  options: { json: JSON_OPTION },
  examples: ['skillbox trust remove ./skills'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const word = input.args[0] ?? '';
      const removed = await skillbox.trust.remove(word, io.cwd);
      if (removed.length === 0) {
        throw new SkillboxError('NOT_FOUND', `you do not trust ${word}`, {
          hint: 'skillbox trust list shows what you trust; what lies in a trusted folder is trusted with it.',
        });
      }
      if (input.flag('json')) io.out(`${JSON.stringify({ removed })}\n`);
      else for (const each of removed) io.out(`${shown(each)} is trusted no longer\n`);
      return EXIT.ok;
    }),
};

function shown({ kind, value }: TrustWord): string {
  return visibleLine(kind === 'publisher' ? `@${value}` : value, 400);
}
