import { EXIT, parseDuration, renderDuration, SkillboxError, visibleLine } from '../../base/index.ts';
import { type KeyInfo, SCOPES, type Scope } from '../../service/index.ts';
import { type Argument, type Command, columns, type Input, type Option } from '../command.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';
import { readAll, withPeople } from '../people.ts';

const ID: Argument = {
  name: 'ID',
  help: 'the id of a key, or the key itself, in which it stands',
  required: true,
  many: false,
};
const JSON_OPTION: Option = { help: 'print one JSON document' };

export const keyCreate: Command = {
  name: 'key create',
  summary: 'Make an API key for the server. It is shown once, and kept only as a hash.',
  args: [{ name: 'NAME', help: 'what it is for, as people will read it in lists', required: true, many: false }],
  options: {
    tenant: { help: 'whose it is (default)', value: 'T' },
    scope: { help: `what it may do, several times: ${SCOPES.join(', ')} (read)`, value: 'S', many: true },
    expires: { help: 'how long it works: 12h, 30d; without it until it is revoked', value: 'D' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox key create ci --scope read --scope run --scope publish --expires 90d'],
  run: (input, io) =>
    withPeople(input, io, async ({ keys }) => {
      const made = await keys.create({
        name: input.args[0] ?? '',
        tenant: input.value('tenant'),
        scopes: scopesOf(input),
        expiresAt: expiryOf(input),
      });
      return show(made, input, io);
    }),
};

export const keyList: Command = {
  name: 'key list',
  summary: 'List API keys: what they are for and when they were used, never their secrets.',
  args: [],
  options: { tenant: { help: 'only those of this tenant', value: 'T' }, ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withPeople(input, io, async ({ keys }) => {
      const all = await readAll(paging => keys.list({ tenant: input.value('tenant'), ...paging }));
      if (input.flag('json')) io.out(`${JSON.stringify({ keys: all.map(toJson) }, null, 2)}\n`);
      else if (all.length === 0) io.err('There are no keys yet; see `skillbox key create --help`.\n');
      else io.out(`${columns(all.map(key => [key.id, rowOf(key)])).join('\n')}\n`);
      return EXIT.ok;
    }),
};

export const keyRevoke: Command = {
  name: 'key revoke',
  summary: 'Revoke an API key: it opens nothing from now on. Servers notice within seconds.',
  args: [ID],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withPeople(input, io, async ({ keys }) => {
      const key = await keys.revoke(idIn(input));
      io.out(input.flag('json') ? `${JSON.stringify({ key: toJson(key) }, null, 2)}\n` : `revoked ${key.id}\n`);
      return EXIT.ok;
    }),
};

export const keyRotate: Command = {
  name: 'key rotate',
  summary: 'Give an API key a new secret. The old one works on for a while, so that nobody is shut out.',
  args: [ID],
  options: {
    overlap: { help: 'how long the old secret works on (1h); 0s ends it at once', value: 'D' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox key rotate 01k2… --overlap 24h'],
  run: (input, io) =>
    withPeople(input, io, async ({ keys }) => {
      const overlapMs = durationOf('overlap', input.value('overlap') ?? '1h');
      const made = await keys.rotate(idIn(input), Math.round(overlapMs / 1000));
      if (!input.flag('json')) io.err(`The old secret works for ${renderDuration(overlapMs)} more.\n`);
      return show(made, input, io);
    }),
};

/** Whoever has the whole key at hand gives that; its secret goes no further. */
function idIn(input: Input): string {
  const word = input.args[0] ?? '';
  return /^sbx_([^_]+)_/.exec(word)?.[1] ?? word;
}

/** The secret is the result, so it alone goes to standard output. */
function show({ key, secret }: { key: KeyInfo; secret: string }, input: Input, io: Io): number {
  if (input.flag('json')) {
    io.out(`${JSON.stringify({ key: toJson(key), secret }, null, 2)}\n`);
    return EXIT.ok;
  }
  io.out(`${secret}\n`);
  io.err(`${rowOf(key)}\nIt is not shown again: keep it where your other secrets are.\n`);
  return EXIT.ok;
}

function scopesOf(input: Input): Scope[] {
  const words = input.values('scope');
  if (words.length === 0) return ['read'];
  return words.map(word => {
    const scope = SCOPES.find(known => known === word);
    if (scope !== undefined) return scope;
    throw new SkillboxError('USAGE', `--scope is ${SCOPES.join(', ')}, not "${word}"`);
  });
}

function expiryOf(input: Input): number | null {
  const text = input.value('expires');
  return text === null ? null : Date.now() + durationOf('expires', text);
}

const DAYS = /^(\d{1,5})d$/;
const DAY_MS = 86_400_000;

/** Keys live for days, which a timeout has no word for. */
function durationOf(name: string, text: string): number {
  const days = DAYS.exec(text)?.[1];
  const ms = /^0[smhd]?$/.test(text) ? 0 : days === undefined ? parseDuration(text) : Number(days) * DAY_MS;
  if (ms !== null) return ms;
  throw new SkillboxError('USAGE', `--${name} "${visibleLine(text)}" is no duration`, { hint: 'As in 12h or 30d.' });
}

function rowOf(key: KeyInfo): string {
  const { tenant, name, scopes, expiresAt, lastUsedAt, revokedAt } = key;
  const state = revokedAt !== null ? 'revoked' : expiresAt === null ? 'no end' : `until ${dayOf(expiresAt)}`;
  const used = lastUsedAt === null ? 'never used' : `used ${dayOf(lastUsedAt)}`;
  return `${visibleLine(name)}  ${tenant}  ${scopes.join(',')}  ${state}  ${used}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function toJson({ createdAt, expiresAt, lastUsedAt, revokedAt, ...rest }: KeyInfo): Record<string, unknown> {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    ...rest,
    createdAt: time(createdAt),
    expiresAt: time(expiresAt),
    lastUsedAt: time(lastUsedAt),
    revokedAt: time(revokedAt),
  };
}
