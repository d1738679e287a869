import type { AuditEvent } from '../audit/index.ts';
import { type JsonObject, SkillboxError } from '../base/index.ts';
import type { Page, Quotas, TenantInfo, TenantService } from '../service/index.ts';
import type { TenantRow, TenantRows } from '../store/index.ts';
import type { Keeper } from './identity.ts';

/** The tenant that a server begins with. */
export const DEFAULT_TENANT = 'default';

export type Usage = TenantInfo['usage'];

export type TenantParts = {
  rows: TenantRows;
  /** What a new tenant gets where nothing else is said. */
  defaults: Quotas;
  /** What a tenant has of its quotas now. */
  usageOf(tenant: string): Promise<Usage>;
  /** Who gets in may have changed. */
  changed(): void;
};

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_PAGE = 500;

/** Tenants, for those who may look after them: others are told nothing. */
export function createTenantService(parts: TenantParts, keeper: Keeper): TenantService {
  const { rows } = parts;
  const toInfo = async (row: TenantRow): Promise<TenantInfo> => ({ ...row, usage: await parts.usageOf(row.name) });
  return {
    async create(name, quotas) {
      requireAdmin(keeper);
      if (!NAME.test(name))
        throw new SkillboxError('USAGE', 'a tenant is called by 1 to 63 small letters, digits and hyphens', {
          hint: 'It begins and ends with a letter or a digit.',
        });
      const row = newTenant(name, { ...parts.defaults, ...checkQuotas(quotas) });
      if (await rows.insert(row, [createdEvent(row, keeper)])) return toInfo(row);
      throw new SkillboxError('EXISTS', `there is a tenant "${name}" already`, { hint: 'Choose another name.' });
    },
    async list({ limit, after }) {
      requireAdmin(keeper);
      const { items, next } = await pageOf(
        limit,
        (row: TenantRow) => row.name,
        count => rows.list(count, after),
      );
      return { items: await Promise.all(items.map(toInfo)), next };
    },
    async update(name, { quotas, disabled }) {
      requireAdmin(keeper);
      const checked = checkQuotas(quotas ?? {});
      // Threat: a stop that is written over by whoever changes a quota in the same moment. A loss means that somebody got on.
      for (;;) {
        const before = await rows.get(name);
        if (before === null) throw unknownTenant(name);
        const row: TenantRow = {
          ...before,
          quotas: { ...before.quotas, ...checked },
          disabledAt: disabled === null ? before.disabledAt : disabled ? (before.disabledAt ?? Date.now()) : null,
        };
        const data = { quotas: row.quotas, disabled: row.disabledAt !== null };
        if (!(await rows.update(before, row, [tellOf('tenant.changed', row.name, keeper, data)]))) continue;
        parts.changed();
        return toInfo(row);
      }
    },
  };
}

/** The tenant that is there at first, made when it is not. */
export async function ensureDefaultTenant({ rows, defaults }: TenantParts, keeper: Keeper): Promise<void> {
  const row = newTenant(DEFAULT_TENANT, defaults);
  if ((await rows.get(row.name)) === null) await rows.insert(row, [createdEvent(row, keeper)]);
}

export function unknownTenant(name: string): SkillboxError {
  return new SkillboxError('NOT_FOUND', `there is no tenant "${name.slice(0, 100)}"`, {
    hint: '`skillbox tenant list` shows them.',
  });
}

export function isAdmin({ scopes }: Pick<Keeper, 'scopes'>): boolean {
  return scopes.includes('admin');
}

function requireAdmin(keeper: Keeper): void {
  if (!isAdmin(keeper))
    throw new SkillboxError('FORBIDDEN', 'this needs the scope admin', { details: { scopes: ['admin'] } });
}

function newTenant(name: string, quotas: Quotas): TenantRow {
  return { name, createdAt: Date.now(), disabledAt: null, quotas };
}

function createdEvent({ name, quotas }: TenantRow, keeper: Keeper): AuditEvent {
  return tellOf('tenant.created', name, keeper, { quotas });
}

function tellOf(type: AuditEvent['type'], tenant: string, { actor }: Keeper, data: JsonObject): AuditEvent {
  return { type, actor, tenant, subject: tenant, data };
}

const QUOTAS = ['running', 'queued', 'storageBytes', 'requestsPerMinute'] as const;

/** Whole numbers from 0, and nothing else than quotas. */
function checkQuotas(given: Partial<Quotas>): Partial<Quotas> {
  const checked: Partial<Quotas> = {};
  for (const [name, value] of Object.entries(given)) {
    const quota = QUOTAS.find(known => known === name);
    if (quota === undefined || !Number.isSafeInteger(value) || value < 0)
      throw new SkillboxError('USAGE', `the quota ${name.slice(0, 40)} is no whole number from 0`, {
        hint: `Quotas are ${QUOTAS.join(', ')}.`,
      });
    checked[quota] = value;
  }
  return checked;
}

/** One more is asked for than is shown, to know whether there are more. */
export async function pageOf<T>(
  limit: number,
  nameOf: (item: T) => string,
  read: (count: number) => Promise<T[]>,
): Promise<Page<T>> {
  const count = Math.max(1, Math.min(limit, MAX_PAGE));
  const found = await read(count + 1);
  const items = found.slice(0, count);
  const last = items.at(-1);
  return { items, next: found.length > count && last !== undefined ? nameOf(last) : null };
}
