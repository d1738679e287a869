import { findHidden, renderCodePoint } from '../../base/index.ts';
import { CODES, type DiagnosticCode, type Findings, type Parameter, type Tool } from '../../skill/index.ts';
import { type Blocks, type BlockToken, parseBlocks, type Section, sectionsOf } from '../markdown.ts';
import { type ParameterRow, readParameters, resolveDefault } from './parameters.ts';
import { parseTemplate, type Template } from './template.ts';
import { checkTemplate } from './template-check.ts';
import { readModifier } from './values.ts';

const TOOL_NAME = /^[a-z0-9_]{1,32}$/;

/** Whether it is worth parsing the text: most bodies are ruled out by one search. */
export function mayHaveToolSection(text: string): boolean {
  return text.includes('####') && /^ {0,3}####[ \t][^\n]{0,80}command/im.test(text);
}

/** A gibberish skill is known by an H3 section that holds `#### Command`. */
export function hasToolSection(text: string): boolean {
  if (!mayHaveToolSection(text)) return false;
  const sections = sectionsOf(parseBlocks(text).tokens);
  return sections.some(
    (section, index) => section.level === 3 && named(partsOf(sections, index), 'command').length > 0,
  );
}

/**
 * GB-04: the tools of a body. A tool that cannot be read is reported and not offered; `fatal` when the skill cannot be
 * loaded for it (GB-16). `bodyLine` is the line of the file on which the body starts.
 */
export function readTools(
  bodyText: string,
  bodyLine: number,
  file: string,
  findings: Findings,
): { tools: Tool[]; fatal: boolean } {
  const blocks = parseBlocks(bodyText);
  const sections = sectionsOf(blocks.tokens);
  const tools: Tool[] = [];
  const lines = new Map<string, number>();
  let fatal = false;
  sections.forEach((section, index) => {
    if (section.level !== 3) return;
    const line = bodyLine + section.line - 1;
    const place = { file, line, column: 1 };
    const parts = partsOf(sections, index);
    if (named(parts, 'command').length === 0) {
      findings.report('tool-no-command', place, `"${section.text}" has no "#### Command" and is no tool`);
      return;
    }
    // Markdown reads `__init__` as a strong "init"; whoever wrote it meant the name.
    const name = TOOL_NAME.test(section.source) ? section.source : section.text;
    const earlier = lines.get(name);
    if (earlier !== undefined) {
      findings.report('tool-duplicate', place, `"${name}" is already the tool of line ${earlier}`);
      fatal = true;
    }
    lines.set(name, earlier ?? line);
    const tool = new ToolReader({ name, blocks, section, parts, bodyLine, file, findings }).read();
    if (tool !== null) tools.push(tool);
  });
  const place = { file, line: bodyLine, column: 1 };
  if (!blocks.complete) {
    // Half of the tools would be worse than none: nobody would see which are missing.
    findings.report('skill-md-too-large', place, 'the body has too many lines for all of its tools to be read');
    fatal = true;
  } else if (tools.length === 0) {
    const message = lines.size === 0 ? 'no H3 heading has a "#### Command"' : 'no tool of the skill can be offered';
    findings.report('tool-none', place, message);
    fatal = true;
  }
  return { tools, fatal };
}

/** The H4 sections inside a section. */
function partsOf(sections: readonly Section[], index: number): Section[] {
  const parts: Section[] = [];
  const end = sections[index]?.to ?? 0;
  for (let next = index + 1; (sections[next]?.from ?? end + 1) <= end; next++) {
    const part = sections[next];
    if (part?.level === 4) parts.push(part);
  }
  return parts;
}

function named(parts: readonly Section[], name: string): Section[] {
  return parts.filter(part => part.text.toLowerCase() === name);
}

type Context = {
  name: string;
  blocks: Blocks;
  section: Section;
  parts: readonly Section[];
  bodyLine: number;
  file: string;
  findings: Findings;
};

class ToolReader {
  readonly #context: Context;
  /** Whether anything was found for which the tool is not offered. */
  #refused = false;

  constructor(context: Context) {
    this.#context = context;
  }

  read(): Tool | null {
    const { name, section, parts, bodyLine } = this.#context;
    this.#checkName();
    const description = this.#readDescription();
    const rows = this.#readRows(named(parts, 'parameters'));
    const fence = this.#readFence(named(parts, 'command'));
    if (fence === null) return null;
    const template = parseTemplate(fence.content);
    for (const problem of template.problems) this.#atCommand(fence, problem, problem.code, problem.message);
    if (rows === null) return null;
    const parameters = this.#resolve(rows, template);
    this.#check(template, parameters, rows, fence);
    this.#checkHidden('command', fence.content, lineOf(fence) + 1);
    if (this.#refused) return null;
    const text = fence.content.replace(/\n$/, '');
    return {
      name,
      description,
      parameters,
      command: template.tokens,
      template: text,
      line: bodyLine + section.line - 1,
    };
  }

  #checkName(): void {
    const { name, section } = this.#context;
    if (TOOL_NAME.test(name)) return;
    const meant = name.toLowerCase().replace(/[^a-z0-9_]+/g, '_');
    const more = TOOL_NAME.test(meant) ? { hint: `Rename it to ${meant}.` } : {};
    const message = `"${name.slice(0, 80)}" is not 1 to 32 of a-z, 0-9 and "_"`;
    this.#report('tool-name-invalid', section.line - 1, 1, message, more);
  }

  /** The text before the first H4, as written. */
  #readDescription(): string {
    const { blocks, section, parts } = this.#context;
    const text = blocks.lines.slice(section.line, (parts[0]?.line ?? section.line + 1) - 1).join('\n');
    this.#checkHidden('description', text, section.line);
    return text.trim();
  }

  #readRows(parts: Section[]): ParameterRow[] | null {
    const { name, section, blocks, bodyLine, file, findings } = this.#context;
    const [part, second] = parts;
    if (part === undefined) {
      this.#report('tool-no-parameters', section.line - 1, 1, `"${name}" has no "#### Parameters"`);
      return [];
    }
    if (second !== undefined) {
      this.#report('parameter-invalid', second.line - 1, 1, `"${name}" has "#### Parameters" twice`);
    }
    const tokens = blocks.tokens.slice(part.from, part.to);
    const rows = readParameters(tokens, bodyLine + part.line - 1, { file, bodyLine }, findings);
    for (const row of rows ?? []) {
      this.#checkHidden(`description of "${row.parameter.name}"`, row.parameter.description, row.line - bodyLine);
    }
    return rows;
  }

  #readFence(parts: Section[]): BlockToken | null {
    const { name, blocks } = this.#context;
    const [part, second] = parts;
    if (second !== undefined) {
      this.#report('tool-command-invalid', second.line - 1, 1, `"${name}" has "#### Command" twice`);
    }
    if (part === undefined) return null;
    const held = blocks.tokens.slice(part.from, part.to);
    const fences = held.filter(token => token.type === 'fence' && token.level === 0);
    const [fence] = fences;
    if (fence !== undefined && fences.length === 1) return fence;
    const seen = fences.length === 0 ? 'no fenced code block' : `${fences.length} fenced code blocks`;
    this.#report('tool-command-invalid', part.line - 1, 1, `under "#### Command" there is ${seen}`);
    return null;
  }

  #resolve(rows: ParameterRow[], template: Template): Parameter[] {
    const { file, bodyLine, findings } = this.#context;
    const defaults = new Map<string, Parameter['default']>();
    const types = new Map(rows.map(row => [row.parameter.name, row.parameter.type]));
    for (const piece of template.tokens.flatMap(token => token.pieces)) {
      const type = piece.kind === 'value' ? types.get(piece.name) : undefined;
      if (piece.kind !== 'value' || type === undefined || defaults.has(piece.name)) continue;
      const modifier = readModifier(piece.modifier, type);
      if (modifier.kind === 'default') defaults.set(piece.name, modifier.value);
    }
    return rows.map(row => resolveDefault(row, defaults.get(row.parameter.name) ?? null, { file, bodyLine }, findings));
  }

  #check(template: Template, parameters: Parameter[], rows: ParameterRow[], fence: BlockToken): void {
    for (const finding of checkTemplate(template.tokens, parameters)) {
      const more = finding.hint === undefined ? {} : { hint: finding.hint };
      if ('token' in finding) {
        const start = template.starts[finding.token] ?? { line: 1, column: 1 };
        this.#atCommand(fence, start, finding.code, finding.message, more);
      } else {
        const line = (rows[finding.parameter]?.line ?? 0) - this.#context.bodyLine;
        this.#report(finding.code, line, 1, finding.message, more);
      }
    }
  }

  #checkHidden(what: string, text: string, line: number): void {
    const hidden = findHidden(text);
    if (hidden === null) return;
    const before = text.slice(0, hidden.index).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    const seen = renderCodePoint(hidden.codePoint);
    const message = `the ${what} holds ${seen}, which a reader does not see`;
    this.#report('hidden-text', line + before.length - 1, column, message);
  }

  /** A place in the command is a place in the fence, whose lines may be indented. */
  #atCommand(
    fence: BlockToken,
    at: { line: number; column: number },
    code: DiagnosticCode,
    message: string,
    more: { hint?: string } = {},
  ): void {
    const line = lineOf(fence) + at.line;
    const written = this.#context.blocks.lines[line]?.length ?? 0;
    const content = fence.content.split('\n')[at.line - 1]?.length ?? 0;
    this.#report(code, line, at.column + Math.max(0, written - content), message, more);
  }

  /** `line` counts from 0 in the body. What a strict reader calls an error keeps the tool from being offered. */
  #report(code: DiagnosticCode, line: number, column: number, message: string, more: { hint?: string } = {}): void {
    const { file, bodyLine, findings } = this.#context;
    if (CODES[code].strict === 'error') this.#refused = true;
    findings.report(code, { file, line: bodyLine + line, column }, message, more);
  }
}

function lineOf(token: BlockToken): number {
  return token.map?.[0] ?? 0;
}
