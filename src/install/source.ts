import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { homeOf } from '../base/index.ts';
import { checkPath } from '../skill/index.ts';
import { type McpServer, parseMcp, showServer } from './mcp-server.ts';
import type { RegistryWish } from './registry-shelf.ts';
import { checkUrl, checkWord, refuse } from './url.ts';

/** Where skills come from: a path, a git repository, the index that a site publishes, an MCP server, or a registry. */
export type Source =
  | { kind: 'path'; path: string }
  | { kind: 'git'; url: string; ref: string | null; folder: string | null }
  | { kind: 'well-known'; url: string }
  /** `uri`: of one skill; null for all that the server lists. */
  | { kind: 'mcp'; server: McpServer; uri: string | null }
  | ({ kind: 'registry' } & RegistryWish);

const GITHUB = /^([A-Za-z0-9][A-Za-z0-9-]{0,38})\/([A-Za-z0-9_.-]{1,100})((?:\/[^#]+)?)$/;
/** A name, and what is wanted of it: a version, a range, which may hold blanks, or a tag. */
const REGISTRY = /^([a-z0-9]+(?:-[a-z0-9]+)*)@([\w.+*^~<>=| -]{1,256})$/;
const SCP = /^[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:\s-][^:\s]*$/;
const GITHUB_TREE = /^https:\/\/github\.com\/([\w.-]+\/[\w.-]+)\/tree\/([^/]+)(?:\/(.+))?$/;
/** What git names branches and tags, without the forms that mean something else to it. */
const REF = /^[A-Za-z0-9_](?:[\w./+-]*[\w+-])?$/;
const INDEX_PATH = '/.well-known/agent-skills/index.json';

/** Reads the word that a person typed. A path counts before everything else, so that nothing on disk is fetched by mistake. */
export function parseSource(word: string, cwd: string): Source {
  checkWord(word);
  const local = localPath(word, cwd);
  if (local !== null) return { kind: 'path', path: local };
  if (/^mcp[:+]/i.test(word)) return { kind: 'mcp', ...parseMcp(word) };
  const published = REGISTRY.exec(word);
  if (published !== null) return { kind: 'registry', name: published[1] ?? '', wanted: published[2] ?? null, at: null };
  const border = word.indexOf('#');
  const place = border === -1 ? word : word.slice(0, border);
  const wish = parseFragment(border === -1 ? '' : word.slice(border + 1));
  if (/[\u0000-\u0020\u007f]/.test(word)) throw refuse(word, 'holds a blank or a control character');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(place)) return parseUrl(place, wish);
  const github = GITHUB.exec(place);
  if (github !== null) return fromGithub(github, wish);
  if (SCP.test(place)) return { kind: 'git', url: place, ...wish };
  throw refuse(word, 'is no source that Skillbox knows, and there is no such path');
}

function localPath(word: string, cwd: string): string | null {
  if (word === '~' || word.startsWith('~/')) return join(homeOf(process.env), word.slice(1));
  const path = resolve(cwd, word);
  return isAbsolute(word) || /^\.\.?(?:\/|$)/.test(word) || existsSync(path) ? path : null;
}

type Wish = { ref: string | null; folder: string | null };

/** `#ref`, `#ref:folder` or `#:folder`. */
function parseFragment(text: string): Wish {
  const colon = text.indexOf(':');
  const ref = colon === -1 ? text : text.slice(0, colon);
  const folder = colon === -1 ? '' : text.slice(colon + 1);
  return { ref: ref === '' ? null : checkRef(ref), folder: folder === '' ? null : checkFolder(folder) };
}

export function checkRef(ref: string): string {
  if (REF.test(ref) && !ref.includes('..') && !ref.includes('//') && ref.length <= 250) return ref;
  throw refuse(ref, 'is no branch, tag or commit');
}

export function checkFolder(folder: string): string {
  const path = folder.replace(/^\.\//, '').replace(/\/+$/, '');
  const unsafe = path === '' ? 'is empty' : checkPath(path);
  if (unsafe !== null) throw refuse(folder, `as a sub-folder ${unsafe}`);
  return path;
}

function fromGithub([, owner = '', name = '', rest = '']: RegExpExecArray, wish: Wish): Source {
  const url = `https://github.com/${owner}/${name.replace(/\.git$/, '')}.git`;
  const below = rest.replace(/^\/+/, '');
  return { kind: 'git', url, ref: wish.ref, folder: below === '' ? wish.folder : checkFolder(below) };
}

function parseUrl(text: string, wish: Wish): Source {
  const tree = GITHUB_TREE.exec(text);
  if (tree !== null) {
    const [, repository = '', ref = '', folder] = tree;
    const url = `https://github.com/${repository}.git`;
    return { kind: 'git', url, ref: checkRef(ref), folder: folder === undefined ? wish.folder : checkFolder(folder) };
  }
  const url = checkUrl(text);
  if (url.protocol === 'file:' || url.protocol === 'ssh:') return { kind: 'git', url: url.href, ...wish };
  if (url.pathname === '/' || url.pathname === '') return { kind: 'well-known', url: new URL(INDEX_PATH, url).href };
  if (url.pathname.includes('/.well-known/')) return { kind: 'well-known', url: url.href };
  return { kind: 'git', url: url.href, ...wish };
}

/** The address of a repository, from a lock or another's list: the same rules as for one that is typed. */
export function checkGitUrl(url: string): string {
  checkWord(url);
  return SCP.test(url) ? url : checkUrl(url).href;
}

/** As a person would type it. */
export function showSource(source: Source): string {
  if (source.kind === 'path') return source.path;
  if (source.kind === 'well-known') return source.url;
  if (source.kind === 'registry') return `${source.name}@${source.wanted ?? 'latest'}`;
  if (source.kind === 'mcp') return `${showServer(source.server)}${source.uri === null ? '' : `#${source.uri}`}`;
  const fragment = `${source.ref ?? ''}${source.folder === null ? '' : `:${source.folder}`}`;
  return `${source.url}${fragment === '' ? '' : `#${fragment}`}`;
}
