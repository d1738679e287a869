import type { Target } from './decide.ts';

/** They concern one connection, or the proxy itself, and end here. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const OURS: ReadonlySet<string> = new Set(['host', 'content-length', 'expect']);

/** The host is the one that was decided on, whatever the request said in its own header. */
export function onwardHeaders(raw: readonly string[], target: Target): string[] {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const kept = returnHeaders(raw, OURS);
  return ['host', target.port === 80 ? host : `${host}:${target.port}`, ...kept, 'connection', 'close'];
}

const NONE: ReadonlySet<string> = new Set();

/** `also`: further names, in lower case, that are not passed on. */
export function returnHeaders(raw: readonly string[], also: ReadonlySet<string> = NONE): string[] {
  const kept: string[] = [];
  // At the end: behind a length Node reads a file's name (`content-disposition`) in Latin-1 as UTF-8, changes it, or throws.
  const length: string[] = [];
  let named: Set<string> | null = null;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [written = '', value = ''] = [raw[index], raw[index + 1]];
    const name = heardAs(written.toLowerCase());
    if (name === 'connection') named = withWords(named, value);
    else if (!HOP_BY_HOP.has(name) && !also.has(name)) (name === 'content-length' ? length : kept).push(written, value);
  }
  kept.push(...length);
  return named === null ? kept : without(kept, named);
}

/** CGI and what came after it knows of a name only its letters and digits: `X_Api_Key` would be there as `x-api-key`. */
function heardAs(name: string): string {
  return /[^a-z0-9-]/.test(name) ? name.replace(/[^a-z0-9]/g, '-') : name;
}

/** What `connection` names ends here too. */
function withWords(named: Set<string> | null, value: string): Set<string> | null {
  const words = value.split(',').map(word => word.trim().toLowerCase());
  // What nearly every request says names no header that would be passed on.
  if (words.every(word => HOP_BY_HOP.has(word) || word === 'close')) return named;
  return new Set([...(named ?? []), ...words]);
}

function without(pairs: readonly string[], named: ReadonlySet<string>): string[] {
  return pairs.filter((_word, index) => !named.has((pairs[index - (index % 2)] ?? '').toLowerCase()));
}
