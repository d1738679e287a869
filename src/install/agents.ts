import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError, suggest } from '../base/index.ts';

export const AGENT_IDS = ['claude-code', 'codex', 'gemini-cli', 'cursor', 'vscode', 'opencode', 'goose'] as const;
export type AgentId = (typeof AGENT_IDS)[number];

/** How an agent's configuration names a server: the format of the file, where in it the servers stand, and an entry's form. */
export type ConfigForm = 'mcp-servers' | 'vscode' | 'opencode' | 'codex' | 'goose';

/** The first of `files` that exists is the one; where none does, the first is made. */
export type AgentConfig = { form: ConfigForm; files: readonly string[] };

export type Agent = {
  id: AgentId;
  title: string;
  /** Directories of skills: in a project, and in the home directory. */
  skills: { project: string; user: string };
  /** Known to find a skill that is a link. Where that is not known it gets a copy, which every agent finds. */
  followsLinks: boolean;
  /** null where the agent has no such file. Paths as `skills`. */
  config: { project: AgentConfig | null; user: AgentConfig };
  /** The folder that the server is told to work in; null where the agent tells it by itself. */
  workspace: { project: string | null; user: string | null };
  /** Any of these in the home directory says that the agent is used here. */
  marks: readonly string[];
};

const HERE = { project: '.', user: '.' };
const SHARED = { project: '.agents/skills', user: '.agents/skills' };

/** One row per agent; docs/agents.md lists them. Most read `.agents/skills`, so one link serves them all. */
export const AGENTS: readonly Agent[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    skills: { project: '.claude/skills', user: '.claude/skills' },
    followsLinks: true,
    config: {
      project: { form: 'mcp-servers', files: ['.mcp.json'] },
      user: { form: 'mcp-servers', files: ['.claude.json'] },
    },
    workspace: HERE,
    marks: ['.claude', '.claude.json'],
  },
  {
    id: 'codex',
    title: 'Codex',
    skills: SHARED,
    followsLinks: true,
    config: {
      project: { form: 'codex', files: ['.codex/config.toml'] },
      user: { form: 'codex', files: ['.codex/config.toml'] },
    },
    workspace: HERE,
    marks: ['.codex'],
  },
  {
    id: 'gemini-cli',
    title: 'Gemini CLI',
    skills: SHARED,
    followsLinks: true,
    config: {
      project: { form: 'mcp-servers', files: ['.gemini/settings.json'] },
      user: { form: 'mcp-servers', files: ['.gemini/settings.json'] },
    },
    workspace: HERE,
    marks: ['.gemini'],
  },
  {
    id: 'cursor',
    title: 'Cursor',
    skills: SHARED,
    followsLinks: false,
    config: {
      project: { form: 'mcp-servers', files: ['.cursor/mcp.json'] },
      user: { form: 'mcp-servers', files: ['.cursor/mcp.json'] },
    },
    workspace: { project: null, user: null },
    marks: ['.cursor'],
  },
  {
    id: 'vscode',
    title: 'VS Code',
    skills: SHARED,
    followsLinks: false,
    config: {
      project: { form: 'vscode', files: ['.vscode/mcp.json'] },
      user: {
        form: 'vscode',
        files:
          process.platform === 'darwin'
            ? ['Library/Application Support/Code/User/mcp.json']
            : ['.config/Code/User/mcp.json'],
      },
    },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code itself puts the folder in
    workspace: { project: '${workspaceFolder}', user: null },
    marks: ['.vscode', '.config/Code', 'Library/Application Support/Code'],
  },
  {
    id: 'opencode',
    title: 'OpenCode',
    skills: SHARED,
    followsLinks: true,
    config: {
      project: {
        form: 'opencode',
        files: ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/opencode.jsonc'],
      },
      user: { form: 'opencode', files: ['.config/opencode/opencode.json', '.config/opencode/opencode.jsonc'] },
    },
    workspace: HERE,
    marks: ['.config/opencode', '.opencode'],
  },
  {
    id: 'goose',
    title: 'Goose',
    skills: SHARED,
    followsLinks: false,
    config: { project: null, user: { form: 'goose', files: ['.config/goose/config.yaml'] } },
    workspace: HERE,
    marks: ['.config/goose'],
  },
];

export function agentOf(id: string): Agent {
  const agent = AGENTS.find(one => one.id === id);
  if (agent !== undefined) return agent;
  const meant = AGENT_IDS.find(one => id !== '' && one.startsWith(id)) ?? suggest(id, AGENT_IDS);
  throw new SkillboxError('USAGE', `there is no agent "${id}"${meant === null ? '' : `; did you mean ${meant}?`}`, {
    hint: `Agents: ${AGENT_IDS.join(', ')}.`,
  });
}

/** The agents that this user has used. */
export function detectAgents(home: string | null): AgentId[] {
  if (home === null) return [];
  return AGENTS.filter(({ marks }) => marks.some(mark => existsSync(join(home, mark)))).map(({ id }) => id);
}

export function agentIds(words: readonly string[]): AgentId[] {
  return AGENT_IDS.filter(id => words.map(word => agentOf(word).id).includes(id));
}
