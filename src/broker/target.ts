import { parseAuthority, type Refusal } from '../egress/index.ts';

export type Scheme = 'https' | 'http';
export type Origin = { scheme: Scheme; host: string; port: number };
/** Where a request goes. Path and query are as they came, and go on like that, or not at all. */
export type Target = Origin & { path: string /** With its `?`, or empty. */; query: string };

const DEFAULT_PORT = { https: 443, http: 80 } as const;

/** An absolute URL. It is cut by hand and never normalised: what is judged is what is sent. */
export function parseUrl(text: string): Target | Refusal {
  const match = /^(https?):\/\/([^/?#]*)(.*)$/is.exec(text);
  if (match === null) return { refused: 'the request names no absolute http or https URL' };
  const scheme = (match[1] ?? '').toLowerCase() as Scheme;
  const authority = parseAuthority(match[2] ?? '', DEFAULT_PORT[scheme]);
  if ('refused' in authority) return authority;
  const rest = match[3] ?? '';
  return parsePath({ scheme, ...authority }, rest.startsWith('/') ? rest : `/${rest}`);
}

/** The rest of a URL whose origin is known, such as the line of a request inside a tunnel. */
export function parsePath({ scheme, host, port }: Origin, text: string): Target | Refusal {
  if (!/^[\x21-\x7e]*$/.test(text)) return { refused: 'the URL holds a control, space or non-ASCII character' };
  if (/[\\#"<>^`{|}]/.test(text)) return { refused: 'the URL holds a character that must be encoded' };
  const cut = text.indexOf('?');
  const path = cut === -1 ? text : text.slice(0, cut);
  if (!path.startsWith('/') || path.startsWith('//')) return { refused: 'the path does not begin with one slash' };
  return { scheme, host, port, path, query: cut === -1 ? '' : text.slice(cut) };
}

export function renderAuthority({ scheme, host, port }: Origin): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === DEFAULT_PORT[scheme] ? name : `${name}:${port}`;
}

export function sameOrigin(one: Origin, other: Origin): boolean {
  return one.scheme === other.scheme && one.host === other.host && one.port === other.port;
}

/**
 * The segments of a path that is compared with a pattern; a refusal where two programs could read it differently: dot
 * segments, empty ones, anything encoded that need not be, and what only some servers cut off (`;`).
 */
export function splitPath(path: string): string[] | Refusal {
  const segments = path.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    if (segment === '' && index < segments.length - 1) return { refused: 'the path holds an empty segment' };
    const fault = faultOfSegment(segment);
    if (fault !== null) return { refused: fault };
  }
  return segments;
}

function faultOfSegment(segment: string): string | null {
  if (!/[%;.]/.test(segment)) return null;
  if (/%(?![0-9A-Fa-f]{2})/.test(segment)) return 'the path holds a broken percent-encoding';
  if (segment.includes(';')) return 'the path holds parameters';
  for (const [encoded] of segment.matchAll(/%../g)) {
    const code = Number.parseInt(encoded.slice(1), 16);
    const character = String.fromCharCode(code);
    if (code < 0x20 || code === 0x7f) return 'the path holds an encoded control character';
    if (/[/\\%;]/.test(character)) return `the path holds an encoded "${character}"`;
    if (/[A-Za-z0-9._~-]/.test(character)) return 'the path encodes a character that needs no encoding';
  }
  return segment === '.' || segment === '..' ? 'the path holds a dot segment' : null;
}

/** Literal segments, `*` for one that is not empty, `**` at the end for one or more. */
export function matchesPattern(segments: readonly string[], pattern: string): boolean {
  const wanted = pattern.slice(1).split('/');
  const open = wanted.at(-1) === '**';
  const fixed = open ? wanted.slice(0, -1) : wanted;
  if (open ? segments.length <= fixed.length : segments.length !== fixed.length) return false;
  return fixed.every((want, index) => (want === '*' ? segments[index] !== '' : want === segments[index]));
}
