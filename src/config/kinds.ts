import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { parseDuration, parseSize } from '../base/index.ts';
import { SCOPES, type Scope } from '../service/index.ts';

/** What a value must be. Values of the file, the environment and flags are all texts first. */
export type Kind<T> = {
  /** Ends a sentence: "is not …". */
  what: string;
  /** Undefined when the text is no such thing. */
  parse(text: string): T | undefined;
  /** As one would write it. */
  render(value: T): string;
};

const asItIs = (value: unknown) => String(value);

/** Short, without line breaks or other controls. */
export function text(maxLength = 500): Kind<string> {
  const fits = (value: string) => value.length > 0 && value.length <= maxLength && !/[\u0000-\u001f\u007f]/.test(value);
  return {
    what: `a text of up to ${maxLength} characters`,
    parse: value => (fits(value) ? value : undefined),
    render: asItIs,
  };
}

export function choice<Word extends string>(...words: readonly Word[]): Kind<Word> {
  return { what: `one of ${words.join(', ')}`, parse: value => words.find(word => word === value), render: asItIs };
}

export function integer(min: number, max: number): Kind<number> {
  const parse = (value: string) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : -1;
    return number >= min && number <= max ? number : undefined;
  };
  return { what: `a number from ${min} to ${max}`, parse, render: asItIs };
}

const YES_AND_NO: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['true', true],
  ['no', false],
  ['false', false],
]);

/** Nothing else, not even 1: power is not switched on by accident. */
export const yesOrNo: Kind<boolean> = {
  what: 'yes or no',
  parse: value => YES_AND_NO.get(value),
  render: value => (value ? 'yes' : 'no'),
};

export const absolutePath: Kind<string> = {
  what: 'an absolute path',
  parse: value => (isAbsolute(value) && !value.includes('\0') ? value : undefined),
  render: asItIs,
};

/** As Docker writes it, or as a path. */
export const socketPath: Kind<string> = {
  what: 'the absolute path of a socket',
  parse: value => absolutePath.parse(value.replace(/^unix:\/\//, '')),
  render: asItIs,
};

const DAY_MS = 86_400_000;

function readDuration(value: string): number | undefined {
  const days = /^([1-9]\d{0,4})d$/.exec(value)?.[1];
  return (days === undefined ? parseDuration(value) : Number(days) * DAY_MS) ?? undefined;
}

/** Exactly, so that what is shown could be written. */
function renderIn(units: readonly (readonly [string, number])[], value: number): string {
  const [unit, factor] = units.find(([, each]) => value >= each && value % each === 0) ?? ['', 1];
  return `${value / factor}${unit}`;
}

const TIMES = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;
const SIZES = [
  ['Gi', 1024 ** 3],
  ['Mi', 1024 ** 2],
  ['Ki', 1024],
] as const;
const renderTime = (ms: number) => renderIn(TIMES, ms);
const renderBytes = (bytes: number) => renderIn(SIZES, bytes);

/** Milliseconds. */
export function duration(minMs: number, maxMs: number): Kind<number> {
  const parse = (value: string) => {
    const ms = readDuration(value);
    return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
  };
  return { what: `a time from ${renderTime(minMs)} to ${renderTime(maxMs)}`, parse, render: renderTime };
}

/** Null: for ever. A bare number is refused: days were meant, and seconds would be taken. */
export const keeping: Kind<number | null> = {
  what: 'a time such as 30d or 12h, or forever',
  parse: value => (value === 'forever' ? null : /[a-z]$/.test(value) ? readDuration(value) : undefined),
  render: value => (value === null ? 'forever' : renderTime(value)),
};

/** Bytes. */
export function size(min: number, max: number): Kind<number> {
  const parse = (value: string) => {
    const bytes = parseSize(value);
    return bytes !== null && bytes >= min && bytes <= max ? bytes : undefined;
  };
  return { what: `a size from ${renderBytes(min)} to ${renderBytes(max)}`, parse, render: renderBytes };
}

/** Without credentials, which would be printed, and without a fragment. */
export function url(...schemes: readonly string[]): Kind<string> {
  const parse = (value: string) => {
    const parsed = URL.canParse(value) ? new URL(value) : null;
    const plain = parsed !== null && parsed.username === '' && parsed.password === '' && parsed.hash === '';
    return plain && schemes.includes(parsed.protocol.slice(0, -1)) ? value : undefined;
  };
  return { what: `a URL with ${schemes.join(' or ')} and without a password`, parse, render: asItIs };
}

/** As a browser sends it: scheme, host and port. */
export const origin: Kind<string> = {
  what: 'an origin such as https://console.example',
  parse: value => (/^https?:\/\//.test(value) && URL.canParse(value) ? sameOrigin(value) : undefined),
  render: asItIs,
};

function sameOrigin(value: string): string | undefined {
  const own = new URL(value).origin;
  return own === value.toLowerCase() ? own : undefined;
}

const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i;

/** A name or an address, perhaps with a port. */
export const hostName: Kind<string> = {
  what: 'a host name or an address, with or without a port',
  parse: value => {
    const [, name = '', port] = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i.exec(value) ?? [];
    const good = isIP(name.replace(/^\[|\]$/g, '')) !== 0 || HOST.test(name);
    return good && Number(port ?? 0) <= 65_535 ? value.toLowerCase() : undefined;
  },
  render: asItIs,
};

/** What a server binds to. */
export const listenAddress: Kind<string> = {
  what: 'an IP address or a host name',
  parse: value => (isIP(value) !== 0 || HOST.test(value) ? value.toLowerCase() : undefined),
  render: asItIs,
};

/** 10.0.0.0/8, ::1. */
export const network: Kind<string> = {
  what: 'an IP address or a network such as 10.0.0.0/8',
  parse: value => {
    const [, address = '', bits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(value) ?? [];
    const family = isIP(address);
    return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128) ? value : undefined;
  },
  render: asItIs,
};

export type Pin = { host: string; port: number; address: string; toPort: number };

export const pin: Kind<Pin> = {
  what: 'host:port=address:port',
  parse: value => {
    const match = /^([a-z0-9._-]+):(\d{1,5})=([0-9a-f.:]+|\[[0-9a-f:]+\]):(\d{1,5})$/i.exec(value);
    const [, host = '', port, address = '', toPort] = match ?? [];
    const bare = address.replace(/^\[|\]$/g, '');
    const good = isIP(bare) !== 0 && [port, toPort].every(each => Number(each) >= 1 && Number(each) <= 65_535);
    return good ? { host: host.toLowerCase(), port: Number(port), address: bare, toPort: Number(toPort) } : undefined;
  },
  render: ({ host, port, address, toPort }) =>
    `${host}:${port}=${address.includes(':') ? `[${address}]` : address}:${toPort}`,
};

/** A word of an identity provider, and a scope that it gives: several of one word give several. */
export const grant: Kind<{ word: string; scope: Scope }> = {
  what: `word=scope, the scope one of ${SCOPES.join(', ')}`,
  parse: value => {
    const border = value.lastIndexOf('=');
    const word = value.slice(0, Math.max(border, 0));
    const scope = SCOPES.find(known => known === value.slice(border + 1));
    return scope !== undefined && /^[\x21-\x7e]{1,200}$/.test(word) ? { word, scope } : undefined;
  },
  render: ({ word, scope }) => `${word}=${scope}`,
};
