import type { AuditEvent, Caller } from '../audit/index.ts';
import { renderSize, SkillboxError } from '../base/index.ts';
import type { Bytes, Published, PublishOptions } from '../service/index.ts';
import type { SkillRow } from '../store/index.ts';
import { type Accepted, withAccepted } from './accept.ts';
import { publishedEvent, taggedEvent } from './events.ts';
import { keepable, manifestOf, searchText } from './manifest.ts';
import { requireTag, requireVersion } from './names.ts';
import type { RegistryParts } from './parts.ts';
import { readSpooled, type Spooled, withSpooled } from './spool.ts';
import { tenantOf } from './versions.ts';

/** What is published, and whether it is new. */
type Outcome = Omit<Published, 'skill'> & { name: string; version: string };

/**
 * Takes a zip in: it lies aside until it is read to its last byte and found right, and becomes a blob only then. Whether the
 * version is free is asked before, to keep no bytes for nothing, and decided when it is written.
 */
export async function publishSkill(
  parts: RegistryParts,
  caller: Caller,
  archive: Bytes,
  options: PublishOptions,
): Promise<Outcome> {
  const { limits, spool } = parts;
  if (options.tags.length > limits.maxTags) throw new SkillboxError('USAGE', `more than ${limits.maxTags} tags`);
  const tags = [...new Set(options.tags.map(requireTag))];
  const given = options.version === null ? null : requireVersion(options.version);
  return withSpooled(spool, archive, limits.maxArchiveBytes, spooled =>
    withAccepted(spooled.path, given, parts, async accepted => {
      const created = await write(parts, caller, accepted, spooled, tags);
      return { name: accepted.skill.name, version: accepted.version, created, warnings: accepted.warnings };
    }),
  );
}

/** False when this very content was there already. */
async function write(
  parts: RegistryParts,
  caller: Caller,
  accepted: Accepted,
  spooled: Spooled,
  tags: readonly string[],
): Promise<boolean> {
  const { skill, version, digest } = accepted;
  const before = await parts.rows.get(tenantOf(caller), skill.name, version);
  if (before !== null && before.digest !== digest) throw taken(accepted, before.digest);
  if (before === null && (await insert(parts, caller, accepted, spooled, tags)) === 'written') return true;
  // It is there with these bytes; only the tags may be new.
  for (const tag of tags.filter(one => before?.tags.includes(one) !== true)) {
    const key = { tenant: tenantOf(caller), name: skill.name, tag };
    await parts.rows.tag(key, version, [taggedEvent(caller, { name: skill.name, version, digest }, tag, null)]);
  }
  return false;
}

async function insert(
  parts: RegistryParts,
  caller: Caller,
  accepted: Accepted,
  spooled: Spooled,
  tags: readonly string[],
): Promise<'written' | 'same'> {
  const { rows, blobs } = parts;
  await checkRoom(parts, caller, accepted.skill.name, spooled.bytes);
  const { sha256, bytes } = await blobs.put(readSpooled(spooled));
  if (sha256 !== spooled.sha256) throw new SkillboxError('SKILL_CHANGED', 'the archive changed while it was stored');
  const row = toRow(caller, accepted, { sha256, bytes });
  const written = await rows.publish(row, tags, eventsOf(caller, row, tags));
  // Somebody published the same version in between.
  if (written === 'taken') {
    throw taken(accepted, (await rows.get(row.tenant, row.name, row.version))?.digest ?? null);
  }
  return written;
}

function toRow(caller: Caller, { skill, folder, version, digest }: Accepted, archive: SkillRow['archive']): SkillRow {
  return {
    tenant: tenantOf(caller),
    name: skill.name,
    version,
    digest,
    archive,
    dialect: skill.dialect,
    description: keepable(skill.description),
    publishedAt: Date.now(),
    publishedBy: caller.actor.id,
    yanked: null,
    manifest: manifestOf(skill, folder),
    text: searchText(skill),
  };
}

function eventsOf(caller: Caller, row: SkillRow, tags: readonly string[]): AuditEvent[] {
  return [publishedEvent(caller, row), ...tags.map(tag => taggedEvent(caller, row, tag, null))];
}

/** Before bytes are stored. Two that publish at once may both pass; the next one does not. */
async function checkRoom(
  { rows, limits, room }: RegistryParts,
  caller: Caller,
  name: string,
  bytes: number,
): Promise<void> {
  const tenant = tenantOf(caller);
  const versions = (await rows.versions(tenant, name)).length;
  if (versions >= limits.maxVersions) throw full(`${name} has ${versions} versions, and no more are kept`);
  if (versions === 0 && (await rows.usage(tenant)).names >= limits.maxNames) {
    throw full(`there are ${limits.maxNames} skills, and no more are kept`);
  }
  const left = await room(caller);
  if (left !== null && bytes > left) {
    throw full(`the archive has ${renderSize(bytes)}, and there is room for ${renderSize(Math.max(0, left))}`);
  }
}

function full(message: string): SkillboxError {
  return new SkillboxError('QUOTA_EXCEEDED', message);
}

function taken({ skill, version, digest }: Accepted, there: string | null): SkillboxError {
  return new SkillboxError('VERSION_EXISTS', `${skill.name} ${version} is published with other content`, {
    details: { name: skill.name, version, published: there, given: digest },
  });
}
