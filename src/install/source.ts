import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { SkillboxError, visibleLine } from '../base/index.ts';
import { checkPath } from '../skill/index.ts';

/** Where skills come from: a path, a git repository, or the index that a site publishes. */
export type Source =
  | { kind: 'path'; path: string }
  | { kind: 'git'; url: string; ref: string | null; folder: string | null }
  | { kind: 'well-known'; url: string };

const GITHUB = /^([A-Za-z0-9][A-Za-z0-9-]{0,38})\/([A-Za-z0-9_.-]{1,100})((?:\/[^#]+)?)$/;
const REGISTRY = /^[a-z0-9]+(?:-[a-z0-9]+)*@[^/\s:]+$/;
const SCP = /^[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^:\s-][^:\s]*$/;
const GITHUB_TREE = /^https:\/\/github\.com\/([\w.-]+\/[\w.-]+)\/tree\/([^/]+)(?:\/(.+))?$/;
/** What git names branches and tags, without the forms that mean something else to it. */
const REF = /^[A-Za-z0-9_](?:[\w./+-]*[\w+-])?$/;
const INDEX_PATH = '/.well-known/agent-skills/index.json';
const MAX_SOURCE = 2000;

/** Reads the word that a person typed. A path counts before everything else, so that nothing on disk is fetched by mistake. */
export function parseSource(word: string, cwd: string): Source {
  checkWord(word);
  const local = localPath(word, cwd);
  if (local !== null) return { kind: 'path', path: local };
  const border = word.indexOf('#');
  const place = border === -1 ? word : word.slice(0, border);
  const wish = parseFragment(border === -1 ? '' : word.slice(border + 1));
  if (/[\u0000-\u0020\u007f]/.test(word)) throw refuse(word, 'holds a blank or a control character');
  if (/^mcp[:+]/.test(place)) throw notYet(word, 'another MCP server');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(place)) return parseUrl(place, wish);
  const github = GITHUB.exec(place);
  if (github !== null) return fromGithub(github, wish);
  if (REGISTRY.test(place)) throw notYet(word, 'a registry');
  if (SCP.test(place)) return { kind: 'git', url: place, ...wish };
  throw refuse(word, 'is no source that Skillbox knows, and there is no such path');
}

function checkWord(word: string): void {
  if (word === '' || word.length > MAX_SOURCE) throw refuse(word, 'is empty or far too long');
  // Threat: git and ssh take a word that begins with a dash for an option, and `ext::` starts a program.
  if (word.startsWith('-')) throw refuse(word, 'begins with a dash');
  if (/^[A-Za-z0-9+.-]*::/.test(word)) throw refuse(word, 'names a transport that starts programs');
}

function localPath(word: string, cwd: string): string | null {
  if (word === '~' || word.startsWith('~/')) return join(homedir(), word.slice(1));
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

const PROTOCOLS: ReadonlySet<string> = new Set(['https:', 'ssh:', 'file:', 'http:']);

/** A URL that may be given to git or fetched: one of few protocols, no secret in it, and nothing that reads as an option. */
export function checkUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw refuse(text, 'is not a URL');
  if (!PROTOCOLS.has(url.protocol)) throw refuse(text, `uses ${url.protocol}//, and only https, ssh and file are used`);
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refuse(text, 'is not encrypted: what comes over http can be changed on the way');
  }
  // A password in a URL would end up in the lock, in the journal and in the list of processes.
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:')) {
    throw refuse(url.origin, "is given with a user or a password; leave it out, git's own credential helper is asked");
  }
  if ((url.hostname === '') !== (url.protocol === 'file:'))
    throw refuse(text, 'has a host where none belongs, or none');
  const parts = [url.hostname, url.username, url.pathname.replace(/^\/+/, '')].map(readable);
  if (parts.some(part => part.startsWith('-'))) throw refuse(text, 'has a part that begins with a dash');
  return url;
}

/** The address of a repository, from a lock or another's list: the same rules as for one that is typed. */
export function checkGitUrl(url: string): string {
  checkWord(url);
  return SCP.test(url) ? url : checkUrl(url).href;
}

function readable(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray percent sign: taken as it stands
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function refuse(word: string, why: string): SkillboxError {
  return new SkillboxError('SOURCE_REFUSED', `"${visibleLine(word, 120)}" ${why}`);
}

function notYet(word: string, what: string): SkillboxError {
  const message = `"${visibleLine(word, 120)}" is ${what}, and Skillbox cannot install from one yet`;
  return new SkillboxError('SOURCE_UNSUPPORTED', message);
}

/** As a person would type it. */
export function showSource(source: Source): string {
  if (source.kind === 'path') return source.path;
  if (source.kind === 'well-known') return source.url;
  const fragment = `${source.ref ?? ''}${source.folder === null ? '' : `:${source.folder}`}`;
  return `${source.url}${fragment === '' ? '' : `#${fragment}`}`;
}
