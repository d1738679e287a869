import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, isSemver, renderSize, SkillboxError, visibleLine } from '../../base/index.ts';
import type { SkillService, SkillVersion } from '../../service/index.ts';
import { type Command, columns, type Input, type Option } from '../command.ts';
import { withService } from '../connect.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';
import { readAll } from '../people.ts';
import { splitName } from '../skill-name.ts';
import { writeAside } from '../write-aside.ts';

const JSON_OPTION: Option = { help: 'print one JSON document' };

export const skillList: Command = {
  name: 'skill list',
  summary: 'List published skills, each with its latest version.',
  args: [],
  options: {
    query: { help: 'only those that fit these words, the best first', value: 'WORDS', short: 'q' },
    tag: { help: 'only those with this tag, in the version that has it', value: 'T' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox skill list', 'skillbox skill list --query "count words"'],
  run: (input, io) =>
    withService(input, io, async ({ skills }) => {
      const filter = { query: input.value('query'), tag: input.value('tag') };
      const found = await readAll(paging => skills.list({ ...filter, ...paging }));
      if (input.flag('json')) return printJson({ skills: found }, io);
      if (found.length === 0) io.err('Nothing is published that fits. skillbox skill push publishes a skill.\n');
      const rows = found.map((skill): [string, string] => [
        `${skill.name} ${skill.version}`,
        `${visibleLine(skill.description, 100)}${tagsOf(skill)}`,
      ]);
      if (rows.length > 0) io.out(`${columns(rows).join('\n')}\n`);
      return EXIT.ok;
    }),
};

export const skillVersions: Command = {
  name: 'skill versions',
  summary: 'List the versions of a published skill, the highest first.',
  args: [{ name: 'NAME', help: 'a published skill', required: true, many: false }],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox skill versions word-count'],
  run: (input, io) =>
    withService(input, io, async ({ skills }) => {
      const found = await skills.versions(input.args[0] ?? '');
      if (input.flag('json')) return printJson({ versions: found }, io);
      const rows = found.map((skill): [string, string] => {
        const when = new Date(skill.publishedAt).toISOString().slice(0, 19).replace('T', ' ');
        const by = visibleLine(skill.publishedBy, 60);
        const yanked =
          skill.yanked === null ? '' : `  withdrawn: ${visibleLine(skill.yanked.reason, 80) || 'no reason'}`;
        return [skill.version, `${when}  ${renderSize(skill.archive.bytes)}  by ${by}${tagsOf(skill)}${yanked}`];
      });
      io.out(`${columns(rows).join('\n')}\n`);
      return EXIT.ok;
    }),
};

export const skillDownload: Command = {
  name: 'skill download',
  summary: 'Fetch a published skill: the zip as it was published.',
  args: [
    {
      name: 'NAME[@V]',
      help: 'a skill; a version, a range or a tag of it instead of the latest',
      required: true,
      many: false,
    },
  ],
  options: {
    output: { help: 'where to write; a directory gets NAME-VERSION.zip', value: 'FILE', short: 'o' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox skill download word-count', 'skillbox skill download word-count@^1.2 -o word-count.zip'],
  run: (input, io) => withService(input, io, ({ skills }) => download(skills, input, io)),
};

async function download(skills: SkillService, input: Input, io: Io): Promise<number> {
  const { name, wanted } = splitName(input.args[0] ?? '');
  const { skill, content } = await skills.download(name, wanted);
  // Threat: a server that gives its answer a name which leads elsewhere.
  if (skill.name !== name || !isSemver(skill.version))
    throw new SkillboxError('SOURCE_FAILED', `what was answered for ${visibleLine(name)} is something else`);
  const path = placeFor(input.value('output'), `${skill.name}-${skill.version}.zip`, io.cwd);
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256');
  await writeAside(path, async file => {
    let left = skill.archive.bytes;
    for await (const chunk of content) {
      left -= chunk.length;
      // Threat: what has no end would be written until the disk is full.
      if (left < 0) break;
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    if (left === 0 && hash.digest('hex') === skill.archive.sha256) return;
    throw new SkillboxError('SOURCE_FAILED', `${name} did not arrive as it was published`);
  });
  if (input.flag('json')) return printJson({ path, skill }, io);
  if (skill.yanked !== null) io.err(`It was withdrawn: ${visibleLine(skill.yanked.reason, 200) || 'no reason'}\n`);
  io.out(`${path}\n  ${renderSize(skill.archive.bytes)}\n  ${skill.digest}\n`);
  return EXIT.ok;
}

function placeFor(given: string | null, name: string, cwd: string): string {
  if (given === null) return resolve(cwd, name);
  const path = resolve(cwd, given);
  const isDirectory = given.endsWith('/') || (existsSync(path) && statSync(path).isDirectory());
  return isDirectory ? join(path, name) : path;
}

function tagsOf({ tags }: SkillVersion): string {
  return tags.length === 0 ? '' : `  [${tags.join(', ')}]`;
}

/** Skills under the names that the API gives their fields. */
async function printJson(
  value: { skills: SkillVersion[] } | { versions: SkillVersion[] } | { path: string; skill: SkillVersion },
  io: Io,
): Promise<number> {
  const { toSkill } = await import('../../wire/index.ts');
  const shown =
    'skill' in value
      ? { ...value, skill: toSkill(value.skill) }
      : 'skills' in value
        ? { skills: value.skills.map(toSkill) }
        : { versions: value.versions.map(toSkill) };
  io.out(`${JSON.stringify(shown, null, 2)}\n`);
  return EXIT.ok;
}
