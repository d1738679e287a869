import type { SkillService, SkillVersion } from '../service/index.ts';
import { MAX_PAGE } from './list.ts';

/** Agent Skills Discovery 0.2, as installers read it: each skill's `latest`, with the digest of the very bytes at its address. */
export type WellKnownIndex = {
  $schema: string;
  skills: { name: string; type: 'archive'; description: string; url: string; digest: string }[];
};

export const WELL_KNOWN_PATH = '/.well-known/agent-skills/index.json';
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json';

/**
 * The index of everything that a caller is offered. `urlOf` gives the address of an exact version, absolute or relative to
 * the index: what `latest` is may change between the index and the download, and the digest would not fit then.
 */
export async function wellKnownIndex(
  skills: Pick<SkillService, 'list'>,
  urlOf: (skill: SkillVersion) => string,
): Promise<WellKnownIndex> {
  const index: WellKnownIndex = { $schema: SCHEMA, skills: [] };
  for (let after: string | null = null; ; ) {
    const page = await skills.list({ query: null, tag: null, limit: MAX_PAGE, after });
    for (const skill of page.items) {
      const { name, description, archive } = skill;
      const digest = `sha256:${archive.sha256}`;
      index.skills.push({ name, type: 'archive', description, url: urlOf(skill), digest });
    }
    if (page.next === null) return index;
    after = page.next;
  }
}
