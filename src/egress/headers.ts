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

/** The host is the one that was decided on, whatever the request said in its own header. */
export function onwardHeaders(raw: readonly string[], target: Target): string[] {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const kept = returnHeaders(raw, ['host', 'content-length', 'expect']);
  return ['host', target.port === 80 ? host : `${host}:${target.port}`, ...kept, 'connection', 'close'];
}

export function returnHeaders(raw: readonly string[], also: readonly string[] = []): string[] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) pairs.push([raw[index] ?? '', raw[index + 1] ?? '']);
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map(word => word.trim().toLowerCase()));
  const drop = new Set([...HOP_BY_HOP, ...named, ...also]);
  return pairs.filter(([name]) => !drop.has(name.toLowerCase())).flat();
}
