import type { Caller } from '../audit/index.ts';
import { SkillboxError, visibleLine } from '../base/index.ts';
import type { SkillVersion } from '../service/index.ts';
import type { DialectName } from '../skill/index.ts';
import type { KeptHead, KeptSkill, SkillRows } from '../store/index.ts';
import { isName } from './names.ts';
import { isVersion, pickVersion } from './resolve.ts';

/** How a tenant is called in rows. */
export function tenantOf({ tenant }: Caller): string {
  return tenant ?? '';
}

/** What callers see of a row. */
export function toVersion(head: KeptHead): SkillVersion {
  const { name, version, description, digest, archive, publishedAt, publishedBy, yanked, tags } = head;
  const dialect = head.dialect as DialectName;
  return { name, version, description, dialect, digest, archive, publishedAt, publishedBy, yanked, tags };
}

const PLAIN = /^[a-z\d.+-]{1,256}$/i;

/** The version that is meant, or an error that says why there is none. */
export async function findVersion(
  rows: SkillRows,
  tenant: string,
  name: string,
  wanted: string | null,
): Promise<KeptSkill> {
  // Most ask for an exact version, and that is one row. What every store takes as a text needs no closer look to be looked for.
  const isPlain = PLAIN.test(name) && PLAIN.test(wanted ?? '');
  if (!isPlain && !isName(name)) throw missing(name, null, false);
  const exact = wanted !== null && (isPlain || isVersion(wanted)) ? await rows.get(tenant, name, wanted) : null;
  if (exact !== null) return exact;
  if (!isName(name)) throw missing(name, null, false);
  const heads = await rows.versions(tenant, name);
  const candidates = heads.map(head => ({ ...head, yanked: head.yanked !== null }));
  const choice = pickVersion(candidates, wanted);
  const found = choice.kind === 'found' ? await rows.get(tenant, name, choice.one.version) : null;
  if (found !== null) return found;
  if (choice.kind === 'yanked') throw withdrawn(name, wanted ?? '', choice.one.version);
  throw missing(name, wanted, heads.length > 0);
}

export function missing(name: string, wanted: string | null, known: boolean): SkillboxError {
  const shown = visibleLine(name, 80);
  if (!known) {
    return new SkillboxError('NOT_FOUND', `there is no published skill "${shown}"`, {
      hint: 'skillbox skill list shows what is published.',
    });
  }
  const which = wanted === null ? 'that is offered' : `that fits "${visibleLine(wanted, 80)}"`;
  return new SkillboxError('NOT_FOUND', `${shown} has no version ${which}`, {
    hint: `skillbox skill versions ${shown} shows what there is.`,
  });
}

function withdrawn(name: string, wanted: string, version: string): SkillboxError {
  return new SkillboxError('NOT_FOUND', `${name}@${wanted} is ${version}, which was withdrawn`, {
    hint: 'Ask for another version; a withdrawn one is given by its exact version only.',
  });
}
