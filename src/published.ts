import { join } from 'node:path';
import type { Caller } from './audit/index.ts';
import type { Parts } from './parts.ts';
import {
  createRegistry,
  findVersion,
  openPublished,
  REGISTRY_LIMITS,
  type RegistryLimits,
  type RegistryParts,
  toVersion,
} from './registry/index.ts';
import { allowsImage } from './runs/index.ts';
import { readOwnCapabilities } from './secrets/index.ts';
import type { SkillService, SkillVersion } from './service/index.ts';
import type { Folder } from './skill/index.ts';

/** What an operator may set. */
export type RegistrySettings = { limits: RegistryLimits; hold: RegistryParts['hold'] };

const UNBOUNDED: RegistrySettings = { limits: REGISTRY_LIMITS, hold: async () => () => undefined };

/** Loaded for those who publish or resolve: a run of a local skill does neither. */
export function registryFor(parts: Parts, caller: Caller, settings: RegistrySettings = UNBOUNDED): SkillService {
  return createRegistry(registryParts(parts, settings), caller);
}

/** Which version is meant: `wanted` is a version, a range, a tag, or null for `latest`. */
export async function findPublished(
  { store }: Parts,
  { tenant }: Caller,
  name: string,
  wanted: string | null,
): Promise<SkillVersion> {
  return toVersion(await findVersion(store.skills, tenant ?? '', name, wanted));
}

/** A published version, to be run: `wanted` is a version, a range, a tag, or null for `latest`. Close the folder. */
export async function openPublishedFor(
  parts: Parts,
  caller: Caller,
  name: string,
  wanted: string | null,
): Promise<{ skill: SkillVersion; folder: Folder }> {
  const kept = await findVersion(parts.store.skills, caller.tenant ?? '', name, wanted);
  return { skill: toVersion(kept), folder: await openPublished(registryParts(parts, UNBOUNDED), kept) };
}

function registryParts({ options, store, writer, images }: Parts, { limits, hold }: RegistrySettings): RegistryParts {
  const { dataDirectory, allowedImages } = options;
  return {
    rows: store.skills,
    blobs: store.blobs,
    spool: { directory: join(dataDirectory, 'uploads'), writer },
    limits,
    allowsImage: image => allowsImage(image, images, { allowed: allowedImages }),
    capabilities: () => readOwnCapabilities(dataDirectory),
    hold,
  };
}
