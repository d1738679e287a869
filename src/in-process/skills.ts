import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Caller } from '../audit/index.ts';
import { SkillboxError } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import type { Parts } from '../parts.ts';
import { findPublished, openPublishedFor } from '../published.ts';
import { openKept, snapshotPath, takeSnapshot } from '../runs/index.ts';
import type { SkillVersion } from '../service/index.ts';
import type { DialectName, Folder, Skill } from '../skill/index.ts';
import type { RunRecord } from '../store/index.ts';

/** A published skill, ready to be run. `path` is where its snapshot lies. Close the folder. */
export type OpenSkill = { version: SkillVersion; skill: Skill; folder: Folder; path: string };

/** How many skills are kept as they were read: what is published never changes. */
const MAX_READ = 200;

/** Published skills as folders: fetched once from the blobs, then read from their snapshot by digest. */
export class PublishedSkills {
  readonly #parts: Parts;
  readonly #directory: string;
  readonly #read = new Map<string, Skill>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#directory = join(parts.options.dataDirectory, 'snapshots');
  }

  async open(caller: Caller, name: string, wanted: string | null): Promise<OpenSkill> {
    const version = await findPublished(this.#parts, caller, name, wanted);
    const folder = await this.#folderOf(caller, version);
    try {
      const path = snapshotPath(this.#directory, version.digest);
      const skill = this.#skillOf(version, folder);
      // What has no version of its own runs as the one under which it was published.
      return { version, folder, path, skill: { ...skill, version: skill.version ?? version.version } };
    } catch (error) {
      folder.close();
      throw error;
    }
  }

  /** The snapshot of a run that another machine has recorded. */
  async fetch({ tenant, by, skill }: RunRecord): Promise<void> {
    if (existsSync(snapshotPath(this.#directory, skill.digest)) || skill.version === null) return;
    const caller: Caller = { tenant, actor: by };
    const version = await findPublished(this.#parts, caller, skill.name, skill.version);
    (await this.#folderOf(caller, version)).close();
  }

  async #folderOf(caller: Caller, version: SkillVersion): Promise<Folder> {
    const { name, digest, publishedBy } = version;
    if (!existsSync(snapshotPath(this.#directory, digest))) {
      const { folder } = await openPublishedFor(this.#parts, caller, name, version.version);
      try {
        const kept = await takeSnapshot(folder, this.#directory, this.#parts.writer);
        if (kept.digest !== digest)
          throw new SkillboxError('SKILL_CHANGED', `the stored archive of ${name} is not what was published`);
      } finally {
        folder.close();
      }
    }
    const origin = { kind: 'registry', path: `registry:${name}`, publisher: publishedBy } as const;
    return openKept(this.#directory, digest, { name, origin });
  }

  #skillOf({ digest, dialect, name }: SkillVersion, folder: Folder): Skill {
    const key = `${dialect} ${name} ${digest}`;
    const known = this.#read.get(key);
    const skill = known ?? readSkill(folder, { mode: 'lenient', dialect: dialect as DialectName }).skill;
    if (skill === null) throw new SkillboxError('INVALID_SKILL', `the skill ${name} cannot be read any more`);
    // The last used is the last to go.
    this.#read.delete(key);
    this.#read.set(key, skill);
    const [oldest] = this.#read.keys();
    if (this.#read.size > MAX_READ && oldest !== undefined) this.#read.delete(oldest);
    return skill;
  }
}
