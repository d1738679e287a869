import type { AuditEvent } from '../audit/index.ts';
import { type JsonObject, SkillboxError } from '../base/index.ts';
import type { KeyInfo, KeyService, KeyWish } from '../service/index.ts';
import type { KeyRow, KeyRows, TenantRows } from '../store/index.ts';
import { type Keeper, toScopes } from './identity.ts';
import { hashSecret, newKeyText, newSecret, renderKey } from './key-text.ts';
import { isIn, lineOf, MAX_LINE } from './line.ts';
import { DEFAULT_TENANT, isAdmin, pageOf, unknownTenant } from './tenants.ts';

export type KeyParts = {
  rows: KeyRows;
  tenants: TenantRows;
  /** Who gets in may have changed. */
  changed(): void;
};

const MAX_NAME = 100;
/** Of one tenant, those that were revoked included. */
const MAX_KEYS = 1000;
const MAX_OVERLAP_SECONDS = 30 * 24 * 3600;

/** API keys, for one who looks after them. What is another tenant's is not there. */
export function createKeyService(parts: KeyParts, keeper: Keeper): KeyService {
  const { rows, tenants } = parts;
  const find = async (id: string): Promise<KeyRow> => {
    const row = await rows.get(id);
    if (row === null || !mayTouch(row.tenant, keeper))
      throw new SkillboxError('NOT_FOUND', 'there is no such key', { hint: '`skillbox key list` shows them.' });
    if (!isAdmin(keeper) && !isIn(await lineOf(rows, id), keeper.actor.id)) throw notYours();
    return row;
  };
  return {
    async create(wish) {
      const tenant = wish.tenant ?? keeper.tenant ?? DEFAULT_TENANT;
      if (!mayTouch(tenant, keeper) || (await tenants.get(tenant)) === null) throw unknownTenant(tenant);
      await requireShort(rows, keeper);
      await requireFew(rows, tenant, keeper);
      const { row, text } = newKey(wish, tenant, keeper);
      await rows.insert(row, [createdEvent(row, keeper)]);
      return { key: toInfo(row), secret: text };
    },
    async list({ tenant, limit, after }) {
      const whose = tenant ?? keeper.tenant;
      if (whose !== null && !mayTouch(whose, keeper)) throw unknownTenant(whose);
      const { items, next } = await pageOf(
        limit,
        (row: KeyRow) => row.id,
        count => rows.list(whose, count, after),
      );
      return { items: items.map(toInfo), next };
    },
    async revoke(id) {
      for (;;) {
        const row = await find(id);
        if (row.revokedAt !== null) return toInfo(row);
        const revoked = { ...row, previous: null, revokedAt: Date.now() };
        // Somebody else was faster: it is revoked already, or has another secret, which is to be revoked as well.
        if (!(await rows.update(revoked, row.hash, [tellOf('key.revoked', row, keeper, { purpose: PURPOSE })])))
          continue;
        parts.changed();
        return toInfo(revoked);
      }
    },
    async rotate(id, overlapSeconds) {
      if (!Number.isSafeInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > MAX_OVERLAP_SECONDS)
        throw new SkillboxError('USAGE', 'the old secret works on for 0 seconds to 30 days');
      const secret = newSecret();
      for (;;) {
        const row = await find(id);
        if (row.revokedAt !== null)
          throw new SkillboxError('KEY_REVOKED', 'the key was revoked, so it gets no new secret');
        const previous = overlapSeconds === 0 ? null : { hash: row.hash, until: Date.now() + overlapSeconds * 1000 };
        const rotated = { ...row, hash: hashSecret(secret), previous };
        const told = [tellOf('key.rotated', row, keeper, { overlap: overlapSeconds })];
        // Rotated by somebody else in this moment: then what they were given is what works on for a while.
        if (!(await rows.update(rotated, row.hash, told))) continue;
        parts.changed();
        return { key: toInfo(rotated), secret: renderKey({ id: row.id, secret }) };
      }
    },
  };
}

/** The key that a new server begins with; null when there is one already. */
export async function createFirstKey(
  rows: KeyRows,
  wish: KeyWish,
  tenant: string,
  keeper: Keeper,
): Promise<string | null> {
  const { row, text } = newKey(wish, tenant, keeper);
  return (await rows.insertFirst(row, [createdEvent(row, keeper)])) ? text : null;
}

function newKey(wish: KeyWish, tenant: string, keeper: Keeper): { row: KeyRow; text: string } {
  const { key, text } = newKeyText(Date.now());
  return { row: toRow(wish, tenant, keeper, key.id, hashSecret(key.secret)), text };
}

function mayTouch(tenant: string, keeper: Keeper): boolean {
  return tenant === keeper.tenant || isAdmin(keeper);
}

/** Threat: whoever takes or revokes another's key speaks in that one's name, or silences them. */
function notYours(): SkillboxError {
  return new SkillboxError('FORBIDDEN', 'this key is not yours: neither the one that you have nor made with it', {
    details: { scopes: ['admin'] },
  });
}

/** What is made is looked up to its beginning whenever it is used, so there is an end to making keys with keys. */
async function requireShort(rows: KeyRows, keeper: Keeper): Promise<void> {
  if (isAdmin(keeper) || (await lineOf(rows, keeper.actor.id)).rows.length < MAX_LINE) return;
  throw new SkillboxError('FORBIDDEN', 'this key was made with a key that was made with others: it makes no more', {
    details: { scopes: ['admin'] },
  });
}

/** Threat: keys are never removed, and whoever has one could fill the database with others. */
async function requireFew(rows: KeyRows, tenant: string, keeper: Keeper): Promise<void> {
  if (isAdmin(keeper) || (await rows.list(tenant, MAX_KEYS, null)).length < MAX_KEYS) return;
  throw new SkillboxError('QUOTA_EXCEEDED', `this tenant has had ${MAX_KEYS} keys: only an admin makes more`);
}

/** Threat: whoever may do little makes a key of one who may do more. */
function requireOwn(scopes: readonly string[], keeper: Keeper): void {
  const beyond = scopes.filter(scope => !(keeper.scopes as readonly string[]).includes(scope));
  if (isAdmin(keeper) || beyond.length === 0) return;
  const needed = beyond.includes('admin') ? 'admin' : `${beyond.join(' and ')}, or admin`;
  throw new SkillboxError('FORBIDDEN', `this needs the scope ${needed}`, {
    details: { scopes: beyond },
  });
}

function toRow(wish: KeyWish, tenant: string, keeper: Keeper, id: string, hash: string): KeyRow {
  const scopes = toScopes(wish.scopes);
  if (scopes.length !== new Set(wish.scopes).size || scopes.length === 0)
    throw new SkillboxError('USAGE', 'a key has at least one scope, and none but those that there are');
  requireOwn(scopes, keeper);
  const now = Date.now();
  return {
    id,
    tenant,
    name: checkName(wish.name),
    scopes,
    hash,
    previous: null,
    createdAt: now,
    createdBy: keeper.actor.id,
    derived: !isAdmin(keeper),
    expiresAt: checkExpiry(wish.expiresAt, now, keeper),
    lastUsedAt: null,
    revokedAt: null,
  };
}

function checkName(name: string): string {
  if (name.trim() !== '' && name.length <= MAX_NAME && !/\p{C}/u.test(name)) return name;
  throw new SkillboxError('USAGE', `the name of a key has 1 to ${MAX_NAME} visible characters`);
}

/** Who has access for a while does not give it for longer. */
function checkExpiry(wanted: number | null, now: number, keeper: Keeper): number | null {
  if (wanted !== null && (!Number.isSafeInteger(wanted) || wanted <= now))
    throw new SkillboxError('USAGE', 'a key expires in the future, or never');
  const own = isAdmin(keeper) ? null : keeper.expiresAt;
  return own === null ? wanted : Math.min(own, wanted ?? own);
}

const PURPOSE = 'api';

function createdEvent(row: KeyRow, keeper: Keeper): AuditEvent {
  const { name, scopes, expiresAt } = row;
  return tellOf('key.created', row, keeper, { purpose: PURPOSE, scopes, publicKey: null, name, expires: expiresAt });
}

function tellOf(type: AuditEvent['type'], { id, tenant }: KeyRow, { actor }: Keeper, data: JsonObject): AuditEvent {
  return { type, actor, tenant, subject: id, data };
}

function toInfo(row: KeyRow): KeyInfo {
  const { id, tenant, name, createdAt, createdBy, expiresAt, lastUsedAt, revokedAt } = row;
  return { id, tenant, name, scopes: toScopes(row.scopes), createdAt, createdBy, expiresAt, lastUsedAt, revokedAt };
}
