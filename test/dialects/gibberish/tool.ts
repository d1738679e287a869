import type { JsonObject } from '../../../src/base/index.ts';
import { interpolate } from '../../../src/dialects/gibberish/interpolate.ts';
import { readTools } from '../../../src/dialects/gibberish/tools.ts';
import { type Diagnostic, Findings, type Parameter, type Skill, type Tool } from '../../../src/skill/index.ts';

const HEADER = '| Name | Type | Required | Description |\n|---|---|---|---|\n';

/** The Markdown of one tool; rows are `name | type | required | description`. */
export function toolText(command: string, rows: readonly string[] = [], name = 'try_it'): string {
  const parameters = rows.length === 0 ? 'None.' : HEADER + rows.map(row => `| ${row} |\n`).join('');
  return `### ${name}\n\nTries it.\n\n#### Parameters\n\n${parameters}\n\n#### Command\n\n\`\`\`bash\n${command}\n\`\`\`\n`;
}

export function read(text: string, bodyLine = 1): { tools: Tool[]; fatal: boolean; found: Diagnostic[] } {
  const findings = new Findings('strict');
  return { ...readTools(text, bodyLine, 'SKILL.md', findings), found: findings.list };
}

/** `line:column code` of each finding, in the order of the text. */
export function places(found: readonly Diagnostic[]): string[] {
  return [...found]
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .map(at => `${at.line}:${at.column} ${at.code}`);
}

/** A tool read from Markdown, as every tool is. */
export function toolOf(command: string, rows: readonly string[] = []): Tool {
  const { tools, found } = read(toolText(command, rows));
  const [tool] = tools;
  if (tool === undefined) throw new Error(`not offered: ${JSON.stringify(found)}`);
  return tool;
}

export function argvOf(command: string, rows: readonly string[], args: JsonObject): string[] {
  return interpolate(toolOf(command, rows), args).argv;
}

export function parameter(name: string, more: Partial<Parameter> = {}): Parameter {
  return { name, type: 'string', required: false, description: '', default: null, ...more };
}

export function skillOf(tools: Tool[], more: Partial<Skill> = {}): Skill {
  return {
    dialect: 'gibberish',
    name: 'git',
    version: '1.0.0',
    description: 'Git operations.',
    instructions: '',
    main: null,
    tools,
    scripts: [],
    resources: [],
    needs: {
      network: 'none',
      secrets: [],
      image: null,
      limits: { timeoutMs: 30_000, memoryBytes: null, cpus: null },
      readOnly: false,
      alwaysAsk: false,
      allowedTools: [],
    },
    offer: { modes: ['Global'], os: [], always: false, toModels: true, toUsers: true },
    about: { license: null, author: null, compatibility: null, emoji: null, tags: [], metadata: {} },
    extra: {},
    ...more,
  };
}
