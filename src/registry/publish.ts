import type { AuditEvent, Caller } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import type { Bytes, Published, PublishOptions } from '../service/index.ts';
import type { Folder } from '../skill/index.ts';
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

/** `from`: the version that has the tag until then. */
type GivenTag = { tag: string; from: string | null };

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
  const { name } = skill;
  const known = await parts.rows.versions(tenantOf(caller), name);
  const before = known.find(one => one.version === version);
  if (before !== undefined && before.digest !== digest) throw taken(accepted, before.digest);
  const given = tags.map(tag => ({ tag, from: known.find(one => one.tags.includes(tag))?.version ?? null }));
  if (before === undefined) {
    await checkCounts(parts, caller, known.length);
    const release = await parts.hold(caller, spooled.bytes + unpackedBytes(accepted.folder));
    let isKept = false;
    try {
      isKept = (await insert(parts, caller, accepted, spooled, given)) === 'written';
    } finally {
      release(isKept);
    }
    if (isKept) return true;
  }
  // It is there with these bytes; only the tags may be new.
  for (const { tag, from } of given.filter(one => one.from !== version)) {
    const event = taggedEvent(caller, { name, version, digest }, tag, from);
    await parts.rows.tag({ tenant: tenantOf(caller), name, tag }, version, [event]);
  }
  return false;
}

async function insert(
  parts: RegistryParts,
  caller: Caller,
  accepted: Accepted,
  spooled: Spooled,
  tags: readonly GivenTag[],
): Promise<'written' | 'same'> {
  const { rows, blobs } = parts;
  const { sha256, bytes } = await blobs.put(readSpooled(spooled));
  if (sha256 !== spooled.sha256) throw new SkillboxError('SKILL_CHANGED', 'the archive changed while it was stored');
  const row = toRow(caller, accepted, { sha256, bytes });
  const words = tags.map(({ tag }) => tag);
  const written = await rows.publish(row, words, eventsOf(caller, row, tags));
  // Somebody published the same version in between.
  if (written === 'taken') {
    throw taken(accepted, (await rows.get(row.tenant, row.name, row.version))?.digest ?? null);
  }
  return written;
}

/** Threat: a small archive of much that is the same would take a hundred times its size where it is run. */
function unpackedBytes({ files }: Folder): number {
  return files.reduce((sum, { size }) => sum + size, 0);
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
    unpacked: unpackedBytes(folder),
  };
}

function eventsOf(caller: Caller, row: SkillRow, tags: readonly GivenTag[]): AuditEvent[] {
  return [publishedEvent(caller, row), ...tags.map(({ tag, from }) => taggedEvent(caller, row, tag, from))];
}

/** Before bytes are stored. Two that publish at once may both pass; the next one does not. */
async function checkCounts({ rows, limits }: RegistryParts, caller: Caller, versions: number): Promise<void> {
  if (versions >= limits.maxVersions) throw full(`it has ${versions} versions, and no more are kept`);
  if (versions === 0 && (await rows.usage(tenantOf(caller))).names >= limits.maxNames) {
    throw full(`there are ${limits.maxNames} skills, and no more are kept`);
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
