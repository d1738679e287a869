import { SkillboxError } from '../base/index.ts';
import { openWorkspace, READ_BYTES, type Workspace, WRITE_BYTES, type Written } from '../workspace/index.ts';
import { textOf } from './arguments.ts';
import type { Desk } from './desk.ts';
import { BOOLEAN, FILE_READ, FILE_WRITTEN, integer, object, skillName, text } from './schemas.ts';
import type { Offered } from './shelf.ts';
import { fileOf, find, withSkill } from './skill-tools.ts';
import { type AgentTool, answer, type CallContext, READING, WRITING } from './tool.ts';

const PATH = text('Relative to the workspace.');

/** WS-04…WS-07 */
export function fileTools(desk: Desk): AgentTool[] {
  return [readTool(desk), writeTool(desk), editTool(desk)];
}

function readTool(desk: Desk): AgentTool {
  return {
    name: 'file_read',
    title: 'Read a file',
    description: `Gives a text file of the workspace, up to ${READ_BYTES} bytes.`,
    input: object(
      {
        path: PATH,
        first_line: integer('Begin at this line; the first is 1.'),
        lines: integer('Give at most so many lines.'),
      },
      ['path'],
    ),
    output: FILE_READ,
    hints: READING,
    inWorkspace: true,
    async call(args, context) {
      const { path, text: whole, bytes } = open(desk, context).read(textOf(args, 'path'));
      const first = typeof args.first_line === 'number' ? Math.max(1, args.first_line) : 1;
      const count = typeof args.lines === 'number' ? Math.max(0, args.lines) : Number.POSITIVE_INFINITY;
      const all = first === 1 && count === Number.POSITIVE_INFINITY;
      const part = all ? whole : linesOf(whole, first, count);
      const which = all ? `${bytes} bytes` : `from line ${first}`;
      return answer(`${path} (${which}):`, { path, bytes, text: part }, part);
    },
  };
}

function linesOf(whole: string, first: number, count: number): string {
  const lines = whole.split('\n');
  return lines.slice(first - 1, first - 1 + count).join('\n');
}

function writeTool(desk: Desk): AgentTool {
  return {
    name: 'file_write',
    title: 'Write a file',
    description: `Writes a text file of the workspace, up to ${WRITE_BYTES} bytes; what was there is replaced at once.`,
    input: object({ path: PATH, content: text('The whole content.') }, ['path', 'content']),
    output: FILE_WRITTEN,
    hints: { ...WRITING, idempotent: true },
    inWorkspace: true,
    async call(args, context) {
      const workspace = open(desk, context);
      const written = await workspace.write(
        textOf(args, 'path'),
        textOf(args, 'content'),
        telling(desk, workspace, context),
      );
      return answer(describe(written), { ...written });
    },
  };
}

function editTool(desk: Desk): AgentTool {
  return {
    name: 'file_edit',
    title: 'Edit a file',
    description: 'Replaces a piece of a text file of the workspace. The old text must stand there exactly once.',
    input: object(
      {
        path: PATH,
        old_text: text('What stands there now, character for character.'),
        new_text: text('What shall stand there instead.'),
        replace_all: { ...BOOLEAN, description: 'Every place where it stands, not only one.' },
      },
      ['path', 'old_text', 'new_text'],
    ),
    output: FILE_WRITTEN,
    hints: WRITING,
    inWorkspace: true,
    async call(args, context) {
      const workspace = open(desk, context);
      const change = {
        oldText: textOf(args, 'old_text'),
        newText: textOf(args, 'new_text'),
        all: args.replace_all === true,
      };
      const edited = await workspace.edit(textOf(args, 'path'), change, telling(desk, workspace, context));
      return answer(`${describe(edited)} Places changed: ${edited.replacements}.`, { ...edited });
    },
  };
}

/** WS-08: an asset goes into the workspace when it is asked for, not into the context. */
export function copyTool(offered: Offered, desk: Desk): AgentTool {
  return {
    name: 'copy_skill_file',
    title: 'Copy a file of a skill',
    description: 'Copies a file that is bundled with a skill, such as a template, into the workspace.',
    input: object({ skill: skillName(offered.skills), path: text('As activate_skill lists it.'), to: PATH }, [
      'skill',
      'path',
      'to',
    ]),
    output: FILE_WRITTEN,
    hints: { ...WRITING, idempotent: true },
    inWorkspace: true,
    async call(args, context) {
      return withSkill(find(offered, args.skill), async (skill, folder) => {
        const { path } = fileOf(skill, folder, textOf(args, 'path'));
        const workspace = open(desk, context);
        const content = folder.read(path, READ_BYTES);
        const written = await workspace.bring(textOf(args, 'to'), content, telling(desk, workspace, context));
        return answer(describe(written), { ...written });
      });
    },
  };
}

function open({ skillbox }: Desk, { workspace }: CallContext): Workspace {
  if (workspace === null) throw new SkillboxError('WORKSPACE_MISSING', 'there is no workspace to work in');
  return openWorkspace(skillbox.checkWorkspace(workspace));
}

/** The journal hears of it first: what cannot be recorded is not written. */
function telling(
  { skillbox }: Desk,
  { root }: Workspace,
  { client }: CallContext,
): (written: Written) => Promise<void> {
  return ({ path, bytes, sha256, created }) =>
    skillbox.note({ type: 'file.written', subject: path, data: { workspace: root, bytes, sha256, created, client } });
}

function describe({ path, bytes, created }: Written): string {
  return `${created ? 'Made' : 'Wrote'} ${path} (${bytes} bytes).`;
}
