import { lstatSync, readFileSync } from 'node:fs';
import { errnoOf, isObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { AGENTS, type AgentConfig, type AgentId, agentOf, type ConfigForm } from './agents.ts';
import type { Editor } from './config/edit.ts';
import { editJsonc } from './config/jsonc.ts';
import { readJsonc } from './config/jsonc-read.ts';
import { editToml } from './config/toml.ts';
import { editYaml } from './config/yaml.ts';
import { realPlace, type Scope } from './scope.ts';

/** A configuration file before and after; `before` is null where there is none. */
export type ConfigChange = { agent: AgentId; path: string; before: string | null; after: string };

const NAME = 'skillbox';
const MAX_BYTES = 16 * 1024 ** 2;

/** `path`: where in the file the entry stands. `args`: those of the program `skillbox`. */
type Form = { edit: Editor; path: (text: string) => string[]; entry: (args: string[]) => JsonValue };

/** How each kind of file names a server that is started as a program. */
const FORMS: Readonly<Record<ConfigForm, Form>> = {
  'mcp-servers': {
    edit: editJsonc,
    path: () => ['mcpServers', NAME],
    entry: args => ({ command: NAME, args }),
  },
  vscode: {
    edit: editJsonc,
    path: () => ['servers', NAME],
    entry: args => ({ type: 'stdio', command: NAME, args }),
  },
  opencode: {
    edit: editJsonc,
    path: text => (hasServersBelow(text) ? ['mcp', 'servers', NAME] : ['mcp', NAME]),
    entry: args => ({ type: 'local', command: [NAME, ...args], enabled: true }),
  },
  codex: {
    edit: editToml,
    path: () => ['mcp_servers', NAME],
    entry: args => ({ command: NAME, args }),
  },
  goose: {
    edit: editYaml,
    path: () => ['extensions', NAME],
    entry: args => ({
      enabled: true,
      type: 'stdio',
      name: NAME,
      description: 'Skills, found and run in a sandbox',
      cmd: NAME,
      args,
      envs: {},
      timeout: 300,
    }),
  },
};

/** Later versions of OpenCode keep servers in `mcp.servers`; a server that is called `servers` has a type. */
function hasServersBelow(text: string): boolean {
  if (text.trim() === '') return false;
  const { value } = readJsonc(text);
  const mcp = isObject(value) ? value.mcp : undefined;
  const servers = isObject(mcp) ? mcp.servers : undefined;
  return isObject(servers) && !Object.hasOwn(servers, 'type');
}

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
    return [{ agent, path, before: text, after: editFile(scope, agent, path, text ?? '', wanted) }];
  });
}

function editFile(scope: Scope, agent: AgentId, path: string, text: string, wanted: boolean): string {
  const workspace = agentOf(agent).workspace[scope.kind];
  const args = workspace === null ? ['mcp'] : ['mcp', '--workspace', workspace];
  const form = configOf(scope, agent)?.form ?? 'mcp-servers';
  try {
    return editConfig(form, text, wanted ? args : null);
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    throw new SkillboxError(cause.code, `${path}: ${cause.message}`, { cause });
  }
}

/** The text with the entry, or without it where `args` is null. */
export function editConfig(form: ConfigForm, text: string, args: string[] | null): string {
  const { edit, path, entry } = FORMS[form];
  // A file of Windows lines stays one.
  const windows = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  const plain = windows ? text.replaceAll('\r\n', '\n') : text;
  const after = edit(plain, path(plain), args === null ? null : entry(args));
  return windows ? after.replaceAll('\n', '\r\n') : after;
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
      wired: config === null ? false : isWired(scope, id, config),
    };
  });
}

function isWired(scope: Scope, agent: AgentId, config: AgentConfig): boolean | null {
  try {
    const path = configPath(scope, config);
    const { text } = readConfig(path);
    return text !== null && editFile(scope, agent, path, text, true) === text;
  } catch (cause) {
    if (cause instanceof SkillboxError) return null;
    throw cause;
  }
}
