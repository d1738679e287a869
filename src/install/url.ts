import { SkillboxError, visibleLine } from '../base/index.ts';

const MAX_SOURCE = 2000;
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

/** What may never reach a program as a word, whatever it means. */
export function checkWord(word: string): void {
  if (word === '' || word.length > MAX_SOURCE) throw refuse(word, 'is empty or far too long');
  // Threat: git and ssh take a word that begins with a dash for an option, and `ext::` starts a program.
  if (word.startsWith('-')) throw refuse(word, 'begins with a dash');
  if (/^[A-Za-z0-9+.-]*::/.test(word)) throw refuse(word, 'names a transport that starts programs');
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

export function refuse(word: string, why: string): SkillboxError {
  return new SkillboxError('SOURCE_REFUSED', `"${visibleLine(word, 120)}" ${why}`);
}
