import type { Caller } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import type { SkillService, SkillVersion } from '../service/index.ts';
import { type DiffSide, diffSkills, digestFiles, type Folder, type SkillDiff } from '../skill/index.ts';
import type { KeptSkill } from '../store/index.ts';
import { taggedEvent, untaggedEvent, yankedEvent } from './events.ts';
import { readPublishedFile } from './file.ts';
import { listByMatch, listByName } from './list.ts';
import { keepable, readManifest } from './manifest.ts';
import { isName, requireTag } from './names.ts';
import { openPublished, readArchive } from './open.ts';
import type { RegistryParts } from './parts.ts';
import { publishSkill } from './publish.ts';
import { byVersion, isVersion } from './resolve.ts';
import { findVersion, missing, tenantOf, toVersion } from './versions.ts';

const MAX_REASON = 1000;

/** The registry, as one caller sees it: their tenant's skills and no others. */
export function createRegistry(parts: RegistryParts, caller: Caller): SkillService {
  const { rows, blobs } = parts;
  const tenant = tenantOf(caller);
  const find = (name: string, wanted: string | null) => findVersion(rows, tenant, name, wanted);
  /** Changes are made to an exact version: a range or a tag could mean another one tomorrow. */
  const exact = async (name: string, version: string): Promise<KeptSkill> => {
    const row = isName(name) && isVersion(version) ? await rows.get(tenant, name, version) : null;
    if (row === null) throw missing(name, version, isName(name) && (await rows.versions(tenant, name)).length > 0);
    return row;
  };
  const again = async (name: string, version: string): Promise<SkillVersion> => toVersion(await exact(name, version));
  return {
    async publish(archive, options) {
      const { name, version, created, warnings } = await publishSkill(parts, caller, archive, options);
      return { skill: await again(name, version), created, warnings };
    },
    async list({ query, tag, ...paging }) {
      const filter = { tenant, tag: tag === null ? null : requireTag(tag) };
      // Who searches for nothing wants to see what there is.
      return query === null || query.trim() === ''
        ? listByName(rows, filter, paging)
        : listByMatch(rows, filter, query, paging);
    },
    async versions(name) {
      const heads = isName(name) ? await rows.versions(tenant, name) : [];
      if (heads.length === 0) throw missing(name, null, false);
      return heads.toSorted(byVersion).map(toVersion);
    },
    resolve: async (name, wanted) => toVersion(await find(name, wanted)),
    async describe(name, wanted) {
      const row = await find(name, wanted);
      return { ...toVersion(row), ...readManifest(row.manifest) };
    },
    async download(name, wanted) {
      const row = await find(name, wanted);
      return { skill: toVersion(row), content: await readArchive(blobs, row) };
    },
    file: async (name, wanted, path) => readPublishedFile(parts, await find(name, wanted), path),
    async yank(name, version, reason) {
      const row = await exact(name, version);
      const said = keepable(reason);
      if (said.length > MAX_REASON) throw new SkillboxError('USAGE', `the reason is over ${MAX_REASON} characters`);
      if (row.yanked?.reason === said) return toVersion(row);
      await rows.yank({ tenant, name, version }, { at: Date.now(), reason: said }, [yankedEvent(caller, row, said)]);
      return again(name, version);
    },
    async unyank(name, version) {
      const row = await exact(name, version);
      if (row.yanked === null) return toVersion(row);
      await rows.yank({ tenant, name, version }, null, [yankedEvent(caller, row, null)]);
      return again(name, version);
    },
    async tag(name, tag, version) {
      requireTag(tag);
      const row = await exact(name, version);
      if (row.tags.includes(tag)) return toVersion(row);
      const holder = (await rows.versions(tenant, name)).find(one => one.tags.includes(tag));
      await rows.tag({ tenant, name, tag }, version, [taggedEvent(caller, row, tag, holder?.version ?? null)]);
      return again(name, version);
    },
    async untag(name, tag) {
      const heads = isName(name) ? await rows.versions(tenant, name) : [];
      const holder = heads.find(one => one.tags.includes(tag));
      const gone =
        holder !== undefined && (await rows.tag({ tenant, name, tag }, null, [untaggedEvent(caller, holder, tag)]));
      if (!gone) throw missing(name, tag, heads.length > 0);
    },
    async diff(name, from, to) {
      return diffVersions(parts, await find(name, from), await find(name, to));
    },
  };
}

async function diffVersions(parts: RegistryParts, from: KeptSkill, to: KeptSkill): Promise<SkillDiff> {
  const opened: Folder[] = [];
  const sideOf = async (row: KeptSkill): Promise<DiffSide> => {
    const folder = await openPublished(parts, row);
    opened.push(folder);
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    return { folder, skill, digests: await digestFiles(folder) };
  };
  try {
    return diffSkills(await sideOf(from), await sideOf(to));
  } finally {
    for (const folder of opened) folder.close();
  }
}
