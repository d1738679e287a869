import type { AuditEvent } from '../audit/index.ts';
import type { JsonObject } from '../base/index.ts';
import type { Blob } from './store.ts';

/** A published version as it is kept. `tenant` is '' on a machine of one's own. */
export type SkillRow = {
  tenant: string;
  name: string;
  version: string;
  /** Of the content. */
  digest: string;
  /** The zip as it was uploaded. */
  archive: Blob;
  dialect: string;
  description: string;
  publishedAt: number;
  publishedBy: string;
  yanked: { at: number; reason: string } | null;
  /** What there is to know of it without opening the zip. */
  manifest: JsonObject;
  /** What a search looks through beside name and description. */
  text: string;
};

/** `written`: it is there now. `same`: it was there with this digest. `taken`: it is there with another one. */
export type SkillWritten = 'written' | 'same' | 'taken';

/** A skill by name: everything of it that decides what its `latest` is. */
export type SkillVersions = { name: string; versions: { version: string; yanked: boolean }[] };

export interface SkillRows {
  /** Decided and written in one step, whoever else publishes. Tags go to it as `tag` would give them. */
  publish(row: SkillRow, tags: readonly string[], events: readonly AuditEvent[]): Promise<SkillWritten>;
  get(tenant: string, name: string, version: string): Promise<SkillRow | null>;
  /** Every version of a name, without `manifest` and `text`, in no order. */
  versions(tenant: string, name: string): Promise<Omit<SkillRow, 'manifest' | 'text'>[]>;
  /** By name, those after `after`. */
  names(tenant: string, limit: number, after: string | null): Promise<SkillVersions[]>;
  /** Names that fit the words, the best first. */
  search(tenant: string, query: string, limit: number): Promise<SkillVersions[]>;
  /** False when there is no such version. null takes a yank back. */
  yank(
    key: { tenant: string; name: string; version: string },
    yanked: SkillRow['yanked'],
    events: readonly AuditEvent[],
  ): Promise<boolean>;
  tags(tenant: string, name: string): Promise<{ tag: string; version: string }[]>;
  /** null takes the tag away. False when there is no such version, or no such tag. */
  tag(
    key: { tenant: string; name: string; tag: string },
    version: string | null,
    events: readonly AuditEvent[],
  ): Promise<boolean>;
  /** The bytes of all archives of the tenant. */
  storageBytes(tenant: string): Promise<number>;
}
