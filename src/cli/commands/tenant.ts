import { EXIT, parseSize, renderSize, SkillboxError, visibleLine } from '../../base/index.ts';
import type { Quotas, TenantInfo } from '../../service/index.ts';
import { type Argument, type Command, columns, type Input, type Option } from '../command.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';
import { readAll, withPeople } from '../people.ts';

const NAME: Argument = { name: 'NAME', help: 'small letters, digits and hyphens', required: true, many: false };
const JSON_OPTION: Option = { help: 'print one JSON document' };
const QUOTA_OPTIONS: Readonly<Record<string, Option>> = {
  running: { help: 'how many runs may go on at once', value: 'N' },
  queued: { help: 'how many runs may wait for their turn', value: 'N' },
  storage: { help: 'how much may be kept, as in 10Gi', value: 'SIZE' },
  requests: { help: 'how many requests there may be in a minute', value: 'N' },
};

export const tenantCreate: Command = {
  name: 'tenant create',
  summary: 'Make a tenant: what belongs to one is not there for another.',
  args: [NAME],
  options: { ...QUOTA_OPTIONS, ...SERVER_OPTION, json: JSON_OPTION },
  examples: ['skillbox tenant create acme --running 4 --storage 20Gi'],
  run: (input, io) =>
    withPeople(input, io, async ({ tenants }) =>
      show(await tenants.create(input.args[0] ?? '', quotasOf(input)), input, io),
    ),
};

export const tenantList: Command = {
  name: 'tenant list',
  summary: 'List tenants, what they have and what they may have.',
  args: [],
  options: { ...SERVER_OPTION, json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withPeople(input, io, async ({ tenants }) => {
      const all = await readAll(paging => tenants.list(paging));
      if (input.flag('json')) io.out(`${JSON.stringify({ tenants: all.map(toJson) }, null, 2)}\n`);
      else if (all.length === 0) io.err('There are no tenants yet; `skillbox serve` makes the first.\n');
      else io.out(`${columns(all.map(tenant => [tenant.name, rowOf(tenant)])).join('\n')}\n`);
      return EXIT.ok;
    }),
};

export const tenantUpdate: Command = {
  name: 'tenant update',
  summary: "Change a tenant's quotas, shut it out, or let it in again.",
  args: [NAME],
  options: {
    ...QUOTA_OPTIONS,
    disable: { help: 'nobody of it gets in any more; what it has is kept' },
    enable: { help: 'let it in again' },
    ...SERVER_OPTION,
    json: JSON_OPTION,
  },
  examples: ['skillbox tenant update acme --running 8', 'skillbox tenant update acme --disable'],
  run: (input, io) =>
    withPeople(input, io, async ({ tenants }) => {
      if (input.flag('disable') && input.flag('enable'))
        throw new SkillboxError('USAGE', '--disable and --enable exclude each other');
      const disabled = input.flag('disable') ? true : input.flag('enable') ? false : null;
      return show(await tenants.update(input.args[0] ?? '', { quotas: quotasOf(input), disabled }), input, io);
    }),
};

function quotasOf(input: Input): Partial<Quotas> {
  const storage = input.value('storage');
  return {
    ...numberOf(input, 'running', 'running'),
    ...numberOf(input, 'queued', 'queued'),
    ...numberOf(input, 'requests', 'requestsPerMinute'),
    ...(storage === null ? {} : { storageBytes: sizeOf(storage) }),
  };
}

function numberOf(input: Input, option: string, quota: keyof Quotas): Partial<Quotas> {
  const text = input.value(option);
  if (text === null) return {};
  if (/^\d{1,12}$/.test(text)) return { [quota]: Number(text) };
  throw new SkillboxError('USAGE', `--${option} "${visibleLine(text)}" is no whole number`);
}

function sizeOf(text: string): number {
  const bytes = parseSize(text);
  if (bytes !== null) return bytes;
  throw new SkillboxError('USAGE', `--storage "${visibleLine(text)}" is no size`, { hint: 'As in 500Mi or 20Gi.' });
}

function show(tenant: TenantInfo, input: Input, io: Io): number {
  if (input.flag('json')) io.out(`${JSON.stringify({ tenant: toJson(tenant) }, null, 2)}\n`);
  else io.out(`${tenant.name}  ${rowOf(tenant)}\n`);
  return EXIT.ok;
}

function rowOf({ quotas, usage, disabledAt }: TenantInfo): string {
  const parts = [
    `${usage.running}/${quotas.running} running`,
    `${usage.queued}/${quotas.queued} queued`,
    `${renderSize(usage.storageBytes)} of ${renderSize(quotas.storageBytes)}`,
    `${quotas.requestsPerMinute} requests/min`,
  ];
  return `${parts.join('  ')}${disabledAt === null ? '' : '  disabled'}`;
}

function toJson({ createdAt, disabledAt, ...rest }: TenantInfo): Record<string, unknown> {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return { ...rest, createdAt: time(createdAt), disabledAt: time(disabledAt) };
}
