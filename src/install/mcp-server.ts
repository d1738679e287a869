import { SkillboxError, visibleLine } from '../base/index.ts';
import { checkUrl, refuse } from './url.ts';

/** An MCP server that skills come from. A command has no blanks in its words: there is no shell that would part them. */
export type McpServer = { kind: 'http'; url: string } | { kind: 'stdio'; command: readonly string[] };

const HTTP = 'mcp+';
const STDIO = 'mcp+stdio:';
const SKILL_FILE = '/SKILL.md';
const MAX_URI = 2000;

/** `mcp+https://host/path`, `mcp+stdio:COMMAND ARG…`, each with `#URI` for one skill. */
export function parseMcp(word: string): { server: McpServer; uri: string | null } {
  const border = word.indexOf('#');
  const uri = border === -1 ? '' : word.slice(border + 1);
  const server = parseServer(border === -1 ? word : word.slice(0, border));
  return { server, uri: uri === '' ? null : checkSkillUri(uri) };
}

/** A server as `showServer` writes it: from a person or from a lock, by the same rules. */
export function parseServer(text: string): McpServer {
  if (/[\u0000-\u001f\u007f]/.test(text)) throw refuse(text, 'holds a control character');
  if (text.startsWith(STDIO)) {
    const command = text
      .slice(STDIO.length)
      .split(' ')
      .filter(part => part !== '');
    if (command.length === 0) throw refuse(text, 'names no program');
    return { kind: 'stdio', command };
  }
  if (!/^mcp\+https?:\/\//.test(text)) {
    throw new SkillboxError('SOURCE_REFUSED', `"${visibleLine(text, 120)}" is no MCP server that can be reached`, {
      hint: 'Write mcp+https://host/path, or mcp+stdio:COMMAND for a program on this machine.',
    });
  }
  const url = checkUrl(text.slice(HTTP.length));
  // A key in it would end up in the lock, which is committed.
  if (url.search !== '') throw refuse(text, 'has a query; keys go into SKILLBOX_MCP_KEYS');
  return { kind: 'http', url: url.href };
}

export function showServer(server: McpServer): string {
  return server.kind === 'http' ? `${HTTP}${server.url}` : `${STDIO}${server.command.join(' ')}`;
}

/** The address of a skill's SKILL.md. It means something to its server alone, and is never looked up anywhere else. */
export function checkSkillUri(uri: string): string {
  if (uri.length > MAX_URI || /[\u0000-\u0020\u007f]/.test(uri) || !uri.endsWith(SKILL_FILE) || !URL.canParse(uri)) {
    throw refuse(uri, `is no address of a skill; it is like skill://name${SKILL_FILE}`);
  }
  return uri;
}

const KEY = /^([a-z0-9._-]+(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?)=(\S+)$/i;

/**
 * The key for a server out of `host=KEY,host:port=KEY`. A key goes to its own host only, so a lock that names another one learns
 * nothing.
 */
export function keyFor(keys: string, { host }: URL): string | null {
  for (const entry of keys.split(/[\s,]+/).filter(one => one !== '')) {
    const [, owner, key] = KEY.exec(entry) ?? [];
    // The entry holds a secret, so it is not repeated.
    if (owner === undefined || key === undefined) {
      throw new SkillboxError('USAGE', 'SKILLBOX_MCP_KEYS holds an entry that is not host=KEY');
    }
    if (owner.toLowerCase() === host) return key;
  }
  return null;
}
