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
  const named = connectionsOwn(raw);
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    if (HOP_BY_HOP.has(name) || also.has(name) || named.has(name)) continue;
    kept.push(raw[index] ?? '', raw[index + 1] ?? '');
  }
  return kept;
}

/** What `connection` names ends here too. */
function connectionsOwn(raw: readonly string[]): ReadonlySet<string> {
  let named: Set<string> | null = null;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if ((raw[index] ?? '').toLowerCase() !== 'connection') continue;
    named ??= new Set();
    for (const word of (raw[index + 1] ?? '').split(',')) named.add(word.trim().toLowerCase());
  }
  return named ?? NONE;
}
