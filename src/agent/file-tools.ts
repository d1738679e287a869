import { SkillboxError } from '../base/index.ts';
import { openWorkspace, READ_BYTES, type Workspace, WRITE_BYTES, type Written } from '../workspace/index.ts';
import { textOf } from './arguments.ts';
import type { Own } from './desk.ts';
import { BOOLEAN, FILE_READ, FILE_WRITTEN, integer, object, skillName, text } from './schemas.ts';
import type { Offered } from './shelf.ts';
import { type AgentTool, answer, type CallContext, READING, WRITING } from './tool.ts';

const PATH = text('Relative to the workspace.');

/** WS-04…WS-07 */
export function fileTools(own: Own): AgentTool[] {
  return [readTool(own), writeTool(own), editTool(own)];
}

function readTool(own: Own): AgentTool {
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
    scope: 'read',
    inWorkspace: true,
    async call(args, context) {
      const { path, text: whole, bytes } = open(own, context).read(textOf(args, 'path'));
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

function writeTool(own: Own): AgentTool {
  return {
    name: 'file_write',
    title: 'Write a file',
    description: `Writes a text file of the workspace, up to ${WRITE_BYTES} bytes; what was there is replaced at once.`,
    input: object({ path: PATH, content: text('The whole content.') }, ['path', 'content']),
    output: FILE_WRITTEN,
    hints: { ...WRITING, idempotent: true },
    scope: 'run',
    inWorkspace: true,
    async call(args, context) {
      const workspace = open(own, context);
      const written = await workspace.write(
        textOf(args, 'path'),
        textOf(args, 'content'),
        telling(own, workspace, context),
      );
      return answer(describe(written), { ...written });
    },
  };
}

function editTool(own: Own): AgentTool {
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
    scope: 'run',
    inWorkspace: true,
    async call(args, context) {
      const workspace = open(own, context);
      const change = {
        oldText: textOf(args, 'old_text'),
        newText: textOf(args, 'new_text'),
        all: args.replace_all === true,
      };
      const edited = await workspace.edit(textOf(args, 'path'), change, telling(own, workspace, context));
      return answer(`${describe(edited)} Places changed: ${edited.replacements}.`, { ...edited });
    },
  };
}

/** WS-08: an asset goes into the workspace when it is asked for, not into the context. */
export function copyTool(offered: Offered, own: Own): AgentTool {
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
    scope: 'run',
    inWorkspace: true,
    async call(args, context) {
      const opened = await context.library.open(textOf(args, 'skill'));
      try {
        const { path } = await context.library.read(textOf(args, 'skill'), textOf(args, 'path'));
        const workspace = open(own, context);
        const content = await opened.read(path, READ_BYTES);
        const written = await workspace.bring(textOf(args, 'to'), content, telling(own, workspace, context));
        return answer(describe(written), { ...written });
      } finally {
        opened.close();
      }
    },
  };
}

function open({ skillbox }: Own, { workspace }: CallContext): Workspace {
  if (workspace === null) throw new SkillboxError('WORKSPACE_MISSING', 'there is no workspace to work in');
  return openWorkspace(skillbox.checkWorkspace(workspace));
}

/** The journal hears of it first: what cannot be recorded is not written. */
function telling({ skillbox }: Own, { root }: Workspace, { client }: CallContext): (written: Written) => Promise<void> {
  return ({ path, bytes, sha256, created }) =>
    skillbox.note({ type: 'file.written', subject: path, data: { workspace: root, bytes, sha256, created, client } });
}

function describe({ path, bytes, created }: Written): string {
  return `${created ? 'Made' : 'Wrote'} ${path} (${bytes} bytes).`;
}
