import { isObject, type JsonObject, type JsonValue, renderSize } from '../base/index.ts';

type Say = (data: JsonObject) => string;

/** What happened to secrets, for people: as JSON the part that matters would be cut off. */
const SENTENCES: Readonly<Record<string, Say>> = {
  'token.minted': ({ capabilities, carriesOut, expires }) => {
    const out = list(carriesOut);
    const until = typeof expires === 'number' ? `, until ${new Date(expires).toISOString().slice(11, 19)}` : '';
    return `for ${list(capabilities) || 'nothing'}${out === '' ? '' : `; can carry data out by ${out}`}${until}`;
  },
  'token.refused': ({ capability, reason }) => `${word(reason)}${of(capability)}`,
  'token.revoked': () => '',
  'secret.released': ({ secret }) => word(secret),
  'secret.refused': ({ secret }) => word(secret),
  'broker.called': ({ method, host, path, status, received, durationMs, tokens, capability }) => {
    const counted = typeof tokens === 'number' ? `, ${tokens} tokens` : '';
    const size = typeof received === 'number' ? renderSize(received) : word(received);
    return `${word(method)} ${word(host)}${word(path)}: ${status === null ? 'no answer' : word(status)}, ${size}${counted}, ${word(durationMs)} ms${of(capability)}`;
  },
  'broker.refused': ({ method, host, reason, capability }) =>
    `${word(method)}${host === null ? '' : ` ${word(host)}`}: ${word(reason)}${of(capability)}`,
  'broker.died': () => 'what the run asked for from then on came to nothing',
  'broker.failed': ({ host, reason, capability }) => {
    const isNamed = word(reason).startsWith(word(host));
    return `${isNamed ? '' : `${word(host)}: `}${word(reason)}${of(capability)}`;
  },
};

/** Null for what has no sentence of its own. */
export function sentenceOf(type: string, data: JsonValue): string | null {
  // The type may be another program's word.
  const say = Object.hasOwn(SENTENCES, type) ? SENTENCES[type] : undefined;
  return say === undefined || !isObject(data) ? null : say(data);
}

function of(capability: JsonValue | undefined): string {
  return typeof capability === 'string' ? ` (${capability})` : '';
}

function list(value: JsonValue | undefined): string {
  return Array.isArray(value) ? value.map(word).join(', ') : '';
}

function word(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
