import type { AuditEvent } from '../audit/index.ts';
import type { JsonObject } from '../base/index.ts';
import type { Blob } from './blobs.ts';

/** A published version as it is kept. `tenant` is '' on a machine of one's own. */
export type SkillHead = {
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
};

export type SkillRow = SkillHead & {
  /** What there is to know of it without opening the zip. */
  manifest: JsonObject;
  /** What a search looks through beside name and description. Written only: nobody reads it back. */
  text: string;
  /** Bytes of its files. Written only: they count among what the tenant keeps, because a server unpacks what is run. */
  unpacked: number;
};

/** What comes back: with the tags that the version has, by name. */
export type KeptHead = SkillHead & { tags: string[] };
export type KeptSkill = KeptHead & { manifest: JsonObject };

/** `written`: it is there now. `same`: it was there with this digest. `taken`: it is there with another one. */
export type SkillWritten = 'written' | 'same' | 'taken';

/** A skill by name: everything of it that decides which version is meant. */
export type SkillVersions = { name: string; versions: { version: string; yanked: boolean; tags: string[] }[] };

/** `tag`: only names that have it. */
export type SkillFilter = { tenant: string; tag: string | null };

export interface SkillRows {
  /** Decided and written in one step, whoever else publishes. Tags go to it as `tag` would give them; only when `written`. */
  publish(row: SkillRow, tags: readonly string[], events: readonly AuditEvent[]): Promise<SkillWritten>;
  get(tenant: string, name: string, version: string): Promise<KeptSkill | null>;
  /** Every version of a name, in no order. */
  versions(tenant: string, name: string): Promise<KeptHead[]>;
  /** These of them that are there, in no order. */
  heads(tenant: string, keys: readonly { name: string; version: string }[]): Promise<KeptHead[]>;
  /** By name (byte order), those after `after`. */
  names(filter: SkillFilter, limit: number, after: string | null): Promise<SkillVersions[]>;
  /**
   * Names of which a version that is not yanked fits any of the words, or begins with them; the best first. Whatever the
   * text is, it is words: no operator in it counts, and nothing in it is an error.
   */
  search(filter: SkillFilter, query: string, limit: number): Promise<SkillVersions[]>;
  /** False when there is no such version. null takes a yank back. */
  yank(
    key: { tenant: string; name: string; version: string },
    yanked: SkillRow['yanked'],
    events: readonly AuditEvent[],
  ): Promise<boolean>;
  /** Moves the tag when another version has it; null takes it away. False when there is no such version, or no such tag. */
  tag(
    key: { tenant: string; name: string; tag: string },
    version: string | null,
    events: readonly AuditEvent[],
  ): Promise<boolean>;
  /** Those of the blobs that some version is stored in, whoever's it is: they are never removed. */
  kept(sha256s: readonly string[]): Promise<string[]>;
  /** How much the tenant has: names, and the bytes of all archives. */
  usage(tenant: string): Promise<{ names: number; bytes: number }>;
}
