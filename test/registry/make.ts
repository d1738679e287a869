import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Caller } from '../../src/audit/index.ts';
import { type ErrorCode, SkillboxError } from '../../src/base/index.ts';
import { hostRuntimeOf } from '../../src/dialects/index.ts';
import { createRegistry, REGISTRY_LIMITS, type RegistryParts } from '../../src/registry/index.ts';
import type { SkillService } from '../../src/service/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { type Item, makeZip } from '../skill/make-zip.ts';
import { bytesOf, WRITER } from '../support/record.ts';
import { tempDir } from '../support/temp.ts';

export type Ground = {
  directory: string;
  store: Store;
  parts: RegistryParts;
  /** The registry as somebody of this tenant sees it. */
  as: (tenant: string | null, id?: string) => SkillService;
  /** What a refused publication must leave: nothing. */
  expectUntouched: () => Promise<void>;
};

export function ground(changes: Partial<RegistryParts> = {}): Ground {
  const directory = tempDir('registry');
  const store = openStore(directory, WRITER);
  const uploads = join(directory, 'uploads');
  const parts: RegistryParts = {
    rows: store.skills,
    blobs: store.blobs,
    spool: { directory: uploads, writer: WRITER },
    limits: REGISTRY_LIMITS,
    allowsImage: image => hostRuntimeOf(image) !== null,
    capabilities: () => [],
    hold: async () => () => undefined,
    ...changes,
  };
  const callerOf = (tenant: string | null, id: string): Caller => ({ tenant, actor: { id, channel: 'api' } });
  return {
    directory,
    store,
    parts,
    as: (tenant, id = 'key-1') => createRegistry(parts, callerOf(tenant, id)),
    async expectUntouched() {
      expect(existsSync(uploads) ? readdirSync(uploads) : []).toEqual([]);
      expect(existsSync(join(directory, 'blobs')) ? readdirSync(join(directory, 'blobs')) : []).toEqual([]);
      expect(await store.journal.heads()).toEqual([]);
    },
  };
}

export type SkillWish = {
  name?: string;
  version?: string | null;
  description?: string;
  image?: string;
  body?: string;
  files?: Item[];
};

/** A skill of the skillbox dialect, as the entries of a zip. */
export function skillItems({ name = 'word-count', version = '1.0.0', ...more }: SkillWish = {}): Item[] {
  const { description = 'Counts the words of a text. Use when someone asks how long a text is.', image } = more;
  const fields = [`name: ${name}`, ...(version === null ? [] : [`version: ${version}`]), `description: ${description}`];
  if (image !== undefined) fields.push(`image: ${image}`);
  return [
    { name: 'SKILL.md', content: `---\n${fields.join('\n')}\nlang: python\n---\n\n${more.body ?? 'Run it.'}\n` },
    { name: 'scripts/main.py', content: 'print(1)\n' },
    ...(more.files ?? []),
  ];
}

export const skillZip = (wish: SkillWish = {}): Buffer => makeZip(skillItems(wish));

/** A skill of a dialect that needs no version. */
export const plainZip = (name: string, version: string | null): Buffer =>
  makeZip([
    {
      name: 'SKILL.md',
      content: `---\nname: ${name}\ndescription: Does ${name}. Use when asked to.\n${version === null ? '' : `metadata:\n  version: "${version}"\n`}---\n\nDo it.\n`,
    },
  ]);

export const publish = (
  registry: SkillService,
  zip: Buffer,
  { tags = [], version = null }: { tags?: string[]; version?: string | null } = {},
) => registry.publish(bytesOf(zip), { tags, version });

/** The error that it is refused with. Whatever was sent, the message is short and holds nothing hidden. */
export async function refused(act: Promise<unknown>, code: ErrorCode): Promise<SkillboxError> {
  const error = await act.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof SkillboxError)) throw error ?? new Error(`it was not refused with ${code}`);
  expect(error.code, error.message).toBe(code);
  expect(error.message.length).toBeLessThan(2000);
  expect(JSON.stringify(error.details).length).toBeLessThan(100_000);
  expect(error.message).not.toMatch(/[\0-\x1f\x7f-\x9f\u202a-\u202e]/);
  return error;
}
