import { posix } from 'node:path';
import { type Entrypoint, Findings, type Folder, type Skill } from '../../skill/index.ts';
import { hasToolSection, readTools } from '../gibberish/tools.ts';
import { parseBlocks, type Section, sectionsOf } from '../markdown.ts';
import { interpreterOf } from '../runtime.ts';
import type { ConvertedFile, Notes } from './conversion.ts';

/**
 * Tools are sections of the body in gibberish and nothing at all elsewhere. Leaving gibberish, they stay as commands
 * that an agent can read and run; a generated program would hide from it what is run. Entering gibberish, each script
 * becomes a tool, for there nothing else can be called.
 */

const NOTE =
  'The commands below are templates: put a value in place of each `{{name}}`, as one argument, and leave out what is ' +
  "optional and not given. A program that begins with `./` or `scripts/` lies in this skill's folder.";

/** Whether gibberish would find its tools in the text: a gibberish skill, or one that came from there and kept its text. */
export function describesTools(instructions: string): boolean {
  if (!hasToolSection(instructions)) return false;
  const { tools, fatal } = readTools(instructions, 1, 'SKILL.md', new Findings('lenient'));
  return tools.length > 0 && !fatal;
}

/** The same text without anything that makes it gibberish: the headings of a tool's parts become bold words. */
export function documentTools(instructions: string, tools: Skill['tools'], notes: Notes): string {
  if (!hasToolSection(instructions)) return instructions;
  const pieces = instructions.split(/(\r\n|\r|\n)/);
  for (const { line, text } of partHeadings(instructions)) {
    const at = (line - 1) * 2;
    const eol = pieces[at + 1] ?? '\n';
    const blankFollows = (pieces[at + 2] ?? '').trim() === '';
    // A table that follows at once would be taken for more of the paragraph.
    pieces[at] = `**${text}**${blankFollows ? '' : eol}`;
  }
  notes.set('instructions', {
    why: 'the headings of the tools would make it gibberish again; they became bold words, and a note explains the commands',
    kept: null,
  });
  return tools.length === 0 ? pieces.join('') : `> ${NOTE}\n\n${pieces.join('')}`;
}

function partHeadings(text: string): Section[] {
  const headings: Section[] = [];
  let tool: Section[] = [];
  const close = () => {
    if (tool.some(part => part.text.toLowerCase() === 'command')) headings.push(...tool);
    tool = [];
  };
  let inside = false;
  for (const section of sectionsOf(parseBlocks(text).tokens)) {
    if (section.level <= 3) {
      close();
      inside = section.level === 3;
    } else if (inside && section.level === 4 && /^(?:command|parameters)$/i.test(section.text)) tool.push(section);
  }
  close();
  return headings;
}

/** A path that stands in a command, in a table and in a shell script without any doubt. */
const PLAIN_PATH = /^[\w./@+-]+$/;
const MAX_HEAD_BYTES = 1024 ** 2;

/** Tools for what the skill can run, and the launchers that they need. */
export function toolsFromScripts(skill: Skill, folder: Folder, notes: Notes): { text: string; files: ConvertedFile[] } {
  const programs = programsOf(skill);
  const names = new Set<string>();
  const files: ConvertedFile[] = [];
  const sections = programs.map(program => {
    const name = toolName(program.path, names);
    notes.set(`tools.${name}`, { why: `made from ${program.path}: gibberish calls nothing but tools`, kept: null });
    if (startsByItself(folder, program.path))
      return renderTool(name, `Runs ${program.path} (${program.language}).`, program.path);
    const launcher = addLauncher(name, launchText(program), folder, files, notes);
    return renderTool(name, `Runs ${program.path} (${program.language}).`, launcher);
  });
  if (sections.length === 0) {
    const launcher = addLauncher('instructions', INSTRUCTIONS_LAUNCHER, folder, files, notes);
    notes.set('tools.instructions', {
      why: 'added: gibberish demands a tool, and the skill has nothing to run',
      kept: null,
    });
    sections.push(renderTool('instructions', 'Prints the instructions of this skill.', launcher, false));
  }
  const instructions = documentTools(skill.instructions, [], notes);
  notes.set('instructions', { why: 'the sections of the tools were put before them', kept: null });
  const rest = instructions === '' ? '' : `## Instructions\n\n${instructions}`;
  // Before the instructions: after them, an unclosed fence or comment would swallow the tools.
  return { text: `## Tools\n\n${sections.join('\n')}\n${rest}`, files };
}

function programsOf({ main, scripts }: Skill): Entrypoint[] {
  const all = main === null || scripts.some(script => script.path === main.path) ? scripts : [main, ...scripts];
  // `_shared.py` and `__init__.py` are there to be imported.
  return all.filter(({ path }) => PLAIN_PATH.test(path) && !posix.basename(path).startsWith('_'));
}

function toolName(path: string, taken: Set<string>): string {
  const stem = posix.basename(path).replace(/\.[^.]+$/, '');
  const base =
    stem
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 28) || 'script';
  let name = base;
  for (let count = 2; taken.has(name); count++) name = `${base}_${count}`;
  taken.add(name);
  return name;
}

/** GB-10: the program of a command is started as a file, so it must be executable and say what runs it. */
function startsByItself(folder: Folder, path: string): boolean {
  const file = folder.file(path);
  if (file === null || !file.executable || file.size > MAX_HEAD_BYTES) return false;
  return folder.read(path, MAX_HEAD_BYTES).subarray(0, 2).toString('latin1') === '#!';
}

/** The source's own files are copied as they are, so what cannot be started gets a launcher instead of a new mode. */
function addLauncher(name: string, text: string, folder: Folder, files: ConvertedFile[], notes: Notes): string {
  const taken = new Set([...folder.files, ...files].map(file => file.path.toLowerCase()));
  let path = `scripts/tool-${name}.sh`;
  for (let count = 2; taken.has(path.toLowerCase()); count++) path = `scripts/tool-${name}-${count}.sh`;
  files.push({ path, executable: true, source: 'text', text });
  notes.set(`scripts.${path}`, { why: `added: starts what the tool "${name}" runs`, kept: null });
  return path;
}

function launchText({ path, language }: Entrypoint): string {
  const relative = posix.relative('scripts', path);
  return `#!/bin/sh
# Starts ${path}, which is not executable or does not say what runs it.
exec ${interpreterOf(language)} "$(dirname "$0")/${relative}" "$@"
`;
}

const INSTRUCTIONS_LAUNCHER = `#!/bin/sh
# Prints this skill's instructions: a model that is offered tools only has no other way to read them.
exec cat "$(dirname "$0")/../SKILL.md"
`;

function renderTool(name: string, description: string, path: string, takesArguments = true): string {
  const parameters = takesArguments
    ? '| Name | Type | Required | Description |\n|---|---|---|---|\n| arguments | array | no | Arguments, each passed on as it is. |'
    : 'None.';
  return `### ${name}

${description}

#### Parameters

${parameters}

#### Command

\`\`\`bash
./${path}${takesArguments ? ' {{arguments}}' : ''}
\`\`\`
`;
}
