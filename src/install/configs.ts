import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { errnoOf, isObject, type JsonValue, SkillboxError } from '../base/index.ts';
import { AGENTS, type AgentConfig, type AgentId, agentOf, type ConfigForm } from './agents.ts';
import type { Editor } from './config/edit.ts';
import { editJsonc, stateOfJsonc } from './config/jsonc.ts';
import { readJsonc } from './config/jsonc-read.ts';
import { editToml, stateOfToml } from './config/toml.ts';
import { editYaml, stateOfYaml } from './config/yaml.ts';
import { realPlace, type Scope } from './scope.ts';

/** A configuration file before and after; `before` is null where there is none, `after` where there will be none. */
export type ConfigChange = { agent: AgentId; path: string; before: string | null; after: string | null };

const NAME = 'skillbox';
const MAX_BYTES = 16 * 1024 ** 2;

/** `path`: where in the file the entry stands. `args`: those of the program `skillbox`. */
type Form = { editor: Editor; path: (text: string) => string[]; entry: (args: string[], text: string) => JsonValue };

const JSONC: Editor = { edit: editJsonc, stateOf: stateOfJsonc };
const TOML: Editor = { edit: editToml, stateOf: stateOfToml };
const YAML: Editor = { edit: editYaml, stateOf: stateOfYaml };

/** How each kind of file names a server that is started as a program. */
const FORMS: Readonly<Record<ConfigForm, Form>> = {
  'mcp-servers': {
    editor: JSONC,
    path: () => ['mcpServers', NAME],
    entry: args => ({ command: NAME, args }),
  },
  vscode: {
    editor: JSONC,
    path: () => ['servers', NAME],
    entry: args => ({ type: 'stdio', command: NAME, args }),
  },
  opencode: {
    editor: JSONC,
    path: text => (hasServersBelow(text) ? ['mcp', 'servers', NAME] : ['mcp', NAME]),
    // Version 2 has no `enabled`; it reads what version 1 wrote, so that form is good for both.
    entry: (args, text) => {
      const entry = { type: 'local', command: [NAME, ...args] };
      return hasServersBelow(text) ? entry : { ...entry, enabled: true };
    },
  },
  codex: {
    editor: TOML,
    path: () => ['mcp_servers', NAME],
    entry: args => ({ command: NAME, args }),
  },
  goose: {
    editor: YAML,
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
    const after = editFile(scope, agent, path, text ?? '', wanted);
    // A file that was made for the entry alone goes with it: where there was one before, there is a copy of it.
    const made = !wanted && after !== text && /^(?:\s*\{\s*\})?\s*$/.test(after) && !existsSync(backupOf(path));
    return [{ agent, path, before: text, after: made ? null : after }];
  });
}

function editFile(scope: Scope, agent: AgentId, path: string, text: string, wanted: boolean): string {
  const workspace = agentOf(agent).workspace[scope.kind];
  const args = workspace === null ? ['mcp'] : ['mcp', '--workspace', workspace];
  const form = configOf(scope, agent)?.form ?? 'mcp-servers';
  try {
    return editConfig(form, text, wanted ? args : null, wanted ? null : readConfig(backupOf(path)).text);
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    throw new SkillboxError(cause.code, `${path}: ${cause.message}`, { cause });
  }
}

/** The text with the entry, or without it where `args` is null; `was`: as it was before the entry came, where that is known. */
export function editConfig(form: ConfigForm, text: string, args: string[] | null, was: string | null = null): string {
  const { editor, path, entry } = FORMS[form];
  // A file of Windows lines stays one.
  const windows = text.includes('\r\n') && !/(?<!\r)\n/.test(text);
  const plain = windows ? text.replaceAll('\r\n', '\n') : text;
  const after =
    args === null ? takeOut(editor, plain, path(plain), was) : editor.edit(plain, path(plain), entry(args, plain));
  return windows ? after.replaceAll('\n', '\r\n') : after;
}

/** With the entry goes the group around it, when nothing else stands in it and it was not there before. */
function takeOut({ edit, stateOf }: Editor, text: string, path: string[], was: string | null): string {
  let after = edit(text, path, null);
  if (after === text) return text;
  for (let group = path.slice(0, -1); group.length > 0; group = group.slice(0, -1)) {
    if (stateOf(after, group) !== 'empty' || wasThere(stateOf, was, group)) break;
    after = edit(after, group, null);
  }
  return after;
}

function wasThere(stateOf: Editor['stateOf'], was: string | null, group: readonly string[]): boolean {
  if (was === null) return false;
  try {
    return stateOf(was, group) !== 'absent';
  } catch (cause) {
    if (cause instanceof SkillboxError) return true; // nobody knows: it stays
    throw cause;
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
