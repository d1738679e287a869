import { lstatSync, readFileSync } from 'node:fs';
import { errnoOf, type JsonValue, SkillboxError } from '../base/index.ts';
import { AGENTS, type AgentConfig, type AgentId, agentOf, type ConfigForm } from './agents.ts';
import type { Editor } from './config/edit.ts';
import { editJsonc } from './config/jsonc.ts';
import { editToml } from './config/toml.ts';
import { editYaml } from './config/yaml.ts';
import { realPlace, type Scope } from './scope.ts';

/** A configuration file before and after; `before` is null where there is none. */
export type ConfigChange = { agent: AgentId; path: string; before: string | null; after: string };

const NAME = 'skillbox';
const COMMAND = { command: 'skillbox', args: ['mcp'] };
const MAX_BYTES = 16 * 1024 ** 2;

type Form = { edit: Editor; group: string; entry: JsonValue };

/** How each kind of file names a server that is started as a program. */
const FORMS: Readonly<Record<ConfigForm, Form>> = {
  'mcp-servers': { edit: editJsonc, group: 'mcpServers', entry: COMMAND },
  vscode: { edit: editJsonc, group: 'servers', entry: { type: 'stdio', ...COMMAND } },
  opencode: { edit: editJsonc, group: 'mcp', entry: { type: 'local', command: ['skillbox', 'mcp'], enabled: true } },
  codex: { edit: editToml, group: 'mcp_servers', entry: COMMAND },
  goose: {
    edit: editYaml,
    group: 'extensions',
    entry: {
      enabled: true,
      type: 'stdio',
      name: 'skillbox',
      description: 'Skills, found and run in a sandbox',
      cmd: 'skillbox',
      args: ['mcp'],
      envs: {},
      timeout: 300,
    },
  },
};

export function configOf(scope: Scope, agent: AgentId): AgentConfig | null {
  return agentOf(agent).config[scope.kind];
}

/** What the files would be; null entry: taken out. An agent without such a file in this scope is left out. */
export function planConfigs(scope: Scope, agents: readonly AgentId[], wanted: boolean): ConfigChange[] {
  return agents.flatMap(agent => {
    const config = configOf(scope, agent);
    if (config === null) return [];
    const path = configPath(scope, config);
    const { text } = readConfig(path);
    if (text === null && !wanted) return [];
    return [{ agent, path, before: text, after: editConfig(config.form, path, text ?? '', wanted) }];
  });
}

export function editConfig(form: ConfigForm, path: string, text: string, wanted: boolean): string {
  const { edit, group, entry } = FORMS[form];
  try {
    // A file of Windows lines stays one.
    const windows = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
    const after = edit(windows ? text.replaceAll('\r\n', '\n') : text, [group, NAME], wanted ? entry : null);
    return windows ? after.replaceAll('\n', '\r\n') : after;
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    throw new SkillboxError(cause.code, `${path}: ${cause.message}`, { cause });
  }
}

function configPath(scope: Scope, { files }: AgentConfig): string {
  const paths = files.map(file => realPlace(scope, file));
  return paths.find(path => lstatSync(path, { throwIfNoEntry: false }) !== undefined) ?? paths[0] ?? '';
}

export function readConfig(path: string): { text: string | null; mode: number } {
  try {
    const stats = lstatSync(path);
    if (!stats.isFile() || stats.size > MAX_BYTES)
      throw new SkillboxError('CONFIG_UNEDITABLE', `${path} is no plain file`);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
    return { text, mode: stats.mode & 0o777 };
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    const code = errnoOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { text: null, mode: 0o600 };
    if (cause instanceof TypeError) throw new SkillboxError('CONFIG_UNEDITABLE', `${path} is not UTF-8`, { cause });
    throw new SkillboxError('UNREADABLE', `${path} cannot be read (${code ?? String(cause)})`, { cause });
  }
}

export function backupOf(path: string): string {
  return `${path}.skillbox-backup`;
}

export type AgentState = {
  id: AgentId;
  title: string;
  /** Where it looks for skills, and the file that its servers are named in. */
  skills: string;
  config: string | null;
  /** Whether the file names Skillbox; null where it cannot be read. */
  wired: boolean | null;
};

export function agentStates(scope: Scope): AgentState[] {
  return AGENTS.map(({ id, title, skills }) => {
    const config = configOf(scope, id);
    return {
      id,
      title,
      skills: skills[scope.kind],
      config: config === null ? null : configPath(scope, config),
      wired: config === null ? false : isWired(scope, config),
    };
  });
}

function isWired(scope: Scope, config: AgentConfig): boolean | null {
  try {
    const path = configPath(scope, config);
    const { text } = readConfig(path);
    return text !== null && editConfig(config.form, path, text, true) === text;
  } catch (cause) {
    if (cause instanceof SkillboxError) return null;
    throw cause;
  }
}
