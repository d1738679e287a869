import { SkillboxError } from '../base/index.ts';
import { parseAuthority } from '../egress/index.ts';

/** `provider`: never leaves the broker. `custom`: may be released to a skill that was granted it, unless it is bound to hosts. */
export const SECRET_KINDS = ['provider', 'custom'] as const;
export type SecretKind = (typeof SECRET_KINDS)[number];

export const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
export const ENDPOINT_NAME = /^[A-Za-z0-9][\w.-]{0,127}$/;
const CUSTOM_NAME = /^custom\/([A-Za-z0-9][\w.-]{0,127})$/;

/** SK-04: `anthropic` is the key of a provider, `custom/KEY` a secret by name. */
export function kindOf(name: string): SecretKind | null {
  if (CUSTOM_NAME.test(name)) return 'custom';
  return PROVIDER_NAME.test(name) && name !== 'custom' ? 'provider' : null;
}

/** The key in `custom/KEY`; null for anything else. */
export function customKeyOf(name: string): string | null {
  return CUSTOM_NAME.exec(name)?.[1] ?? null;
}

/** Never says what it was given: whoever puts a value where the name belongs must not find it in a log. */
export function requireName(name: string): SecretKind {
  const kind = kindOf(name);
  if (kind !== null) return kind;
  throw new SkillboxError('SECRET_INVALID', 'that is no name of a secret', {
    hint: name.includes('=')
      ? 'Give the name only. The value is asked for, or comes by standard input or --from-file.'
      : "The name is a provider's (`anthropic`), or custom/KEY with letters, digits, dots, hyphens and underscores.",
  });
}

/**
 * Exact hosts in the one spelling that the broker reads: `host` or `host:port` by https, `http://host` for whoever wants a
 * secret to travel in the clear. There are no patterns, and an address in an odd spelling is refused.
 */
export function readHosts(hosts: readonly string[]): string[] {
  return [...new Set(hosts.map(readHost))].sort();
}

function readHost(text: string): string {
  const cut = /^(?:(https?):\/\/)?([^/]+)\/?$/i.exec(text);
  const [, scheme = 'https', authority = ''] = cut ?? [];
  const target =
    cut === null
      ? { refused: text === '' ? 'it is empty' : 'it has a path, or another scheme than http and https' }
      : parseAuthority(authority, scheme.toLowerCase() === 'http' ? 80 : 443);
  if ('refused' in target) {
    throw new SkillboxError('SECRET_INVALID', `"${text}" is no host: ${target.refused}`, {
      hint: 'Write the name, as in api.example.com, or with a port; there are no patterns.',
    });
  }
  const plain = scheme.toLowerCase() === 'http';
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const port = target.port === (plain ? 80 : 443) ? '' : `:${target.port}`;
  return `${plain ? 'http://' : ''}${host}${port}`;
}

export const MIN_SCRUBBED_BYTES = 8;
export const MAX_VALUE_BYTES = 64 * 1024;

/**
 * Why a value cannot be kept; null when it can. `inRequests`: it is put into requests, where a line break would begin
 * another header.
 */
export function faultOfValue(value: Buffer, inRequests: boolean): string | null {
  if (value.length === 0) return 'it is empty';
  if (value.length > MAX_VALUE_BYTES) return `it has ${value.length} bytes; at most ${MAX_VALUE_BYTES} are kept`;
  if (value.includes(0)) return 'it holds a NUL byte';
  const text = value.toString('utf8');
  if (Buffer.byteLength(text) !== value.length || text.includes('\ufffd')) return 'it is not text in UTF-8';
  if (inRequests && /[\x00-\x1f\x7f]/.test(text)) return 'it holds a line break or a control character';
  return null;
}
