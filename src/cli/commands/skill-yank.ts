import { EXIT, SkillboxError } from '../../base/index.ts';
import type { SkillVersion } from '../../service/index.ts';
import type { Argument, Command, Option } from '../command.ts';
import { withService } from '../connect.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';

const JSON_OPTION: Option = { help: 'print one JSON document' };
const NAME: Argument = { name: 'NAME', help: 'a published skill', required: true, many: false };
const VERSION: Argument = { name: 'VERSION', help: 'one of its versions, exactly', required: true, many: false };

export const skillYank: Command = {
  name: 'skill yank',
  summary:
    'Withdraw a published version: it is offered to nobody any more. What runs of it there are stay as they are.',
  args: [NAME, VERSION],
  options: {
    reason: { help: 'why, for those who ask for it', value: 'TEXT' },
    undo: { help: 'offer it again' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox skill yank word-count 1.2.0 --reason "counts hyphens wrong"'],
  run: (input, io) =>
    withService(input, io, async ({ skills }) => {
      const [name = '', version = ''] = input.args;
      const undo = input.flag('undo');
      if (undo && input.value('reason') !== null) {
        throw new SkillboxError('USAGE', '--undo takes no --reason');
      }
      const skill = undo
        ? await skills.unyank(name, version)
        : await skills.yank(name, version, input.value('reason') ?? '');
      return report(skill, undo ? 'is offered again' : 'is withdrawn', input.flag('json'), io);
    }),
};

export const skillTag: Command = {
  name: 'skill tag',
  summary: 'Give a published version a tag, which another version loses, or take a tag away.',
  args: [
    NAME,
    { name: 'TAG', help: 'a word like stable', required: true, many: false },
    { ...VERSION, required: false },
  ],
  options: { remove: { help: 'take the tag away' }, ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox skill tag word-count stable 1.2.0', 'skillbox skill tag word-count stable --remove'],
  run: (input, io) =>
    withService(input, io, async ({ skills }) => {
      const [name = '', tag = '', version] = input.args;
      if (input.flag('remove') !== (version === undefined)) {
        throw new SkillboxError('USAGE', 'a tag is given to a VERSION, or taken away with --remove');
      }
      if (version !== undefined)
        return report(await skills.tag(name, tag, version), `is ${tag}`, input.flag('json'), io);
      await skills.untag(name, tag);
      io.out(input.flag('json') ? `${JSON.stringify({ removed: tag })}\n` : `${name} has no tag ${tag} any more\n`);
      return EXIT.ok;
    }),
};

async function report(skill: SkillVersion, what: string, json: boolean, io: Io): Promise<number> {
  if (json) {
    const { toSkill } = await import('../../wire/index.ts');
    io.out(`${JSON.stringify(toSkill(skill), null, 2)}\n`);
  } else io.out(`${skill.name} ${skill.version} ${what}\n`);
  return EXIT.ok;
}
