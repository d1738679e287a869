import type { Diagnostic, DialectName, SkillDiff } from '../skill/index.ts';
import type { Bytes, Page, Paging } from './service.ts';

/** The registry of one tenant. A version is published once and never changes; `latest` means one thing (SB-04). */
export interface SkillService {
  /** A zip. The same content of a version again is no fault; other content is (`VERSION_EXISTS`, 409). */
  publish(archive: Bytes, options: PublishOptions): Promise<Published>;
  /** One entry for each name: its `latest`, or the version with the tag. With a query the best match first, else by name. */
  list(filter: { query: string | null; tag: string | null } & Paging): Promise<Page<SkillVersion>>;
  /** The highest version first. */
  versions(name: string): Promise<SkillVersion[]>;
  /** `wanted`: a version, a semver range, a tag, or null for `latest`. Yanked ones only by their exact version. */
  resolve(name: string, wanted: string | null): Promise<SkillVersion>;
  /** What the skill is, as far as a caller needs to know to use it. */
  describe(name: string, wanted: string | null): Promise<SkillDetail>;
  /** The zip as it was published. */
  download(name: string, wanted: string | null): Promise<{ skill: SkillVersion; content: Bytes }>;
  /** One file of it by its path, as it was published (AS-12). */
  file(name: string, wanted: string | null, path: string): Promise<SkillFile>;
  /** Nobody is offered it any more; what runs of it there are stay as they are. */
  yank(name: string, version: string, reason: string): Promise<SkillVersion>;
  unyank(name: string, version: string): Promise<SkillVersion>;
  /** Moves the tag when another version has it. `latest` is nobody's to give. */
  tag(name: string, tag: string, version: string): Promise<SkillVersion>;
  untag(name: string, tag: string): Promise<void>;
  diff(name: string, from: string, to: string): Promise<SkillDiff>;
}

export type SkillFile = { path: string; bytes: number; sha256: string; content: Bytes };

/** `version`: for skills that carry none; it must not differ from one that they carry. */
export type PublishOptions = { tags: readonly string[]; version: string | null };
/** `created` is false when this very content was there already. */
export type Published = { skill: SkillVersion; created: boolean; warnings: Diagnostic[] };

export type SkillVersion = {
  name: string;
  version: string;
  description: string;
  dialect: DialectName;
  /** Of the content, whatever it was packed in: what approvals, runs and locks are bound to. */
  digest: string;
  /** The zip as it was uploaded. */
  archive: { sha256: string; bytes: number };
  publishedAt: number;
  /** Who published it: a key's or a person's id. */
  publishedBy: string;
  yanked: { at: number; reason: string } | null;
  tags: string[];
};

/** A tool of a gibberish skill; whether it only reads and whether somebody is asked each time is its author's word. */
export type SkillTool = {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  readOnly: boolean;
  alwaysAsk: boolean;
};

export type SkillDetail = SkillVersion & {
  instructions: string;
  lang: string | null;
  image: string | null;
  tools: SkillTool[];
  scripts: string[];
  files: { path: string; bytes: number }[];
  needs: { network: string; secrets: string[] };
};
