import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { SkillboxError } from '../../src/base/index.ts';
import { type FolderLimits, openArchive, type RefusalReason } from '../../src/skill/index.ts';
import { type Item, makeZip, type Whole } from './make-zip.ts';
import { openDescriptors, refusal, scratch } from './scratch.ts';

/** A right entry, beside which or of which an attack is made. */
export const SKILL: Item = { name: 'SKILL.md', content: 'hello' };

/** The refusal of an archive, after checking that nothing hostile is in its text and nothing is left open. */
export async function refuse(bytes: Buffer, limits: Partial<FolderLimits> = {}): Promise<SkillboxError> {
  const base = scratch();
  writeFileSync(join(base, 'a.zip'), bytes);
  const error = await refusal(() => openArchive(join(base, 'a.zip'), limits));
  expect(['ARCHIVE_UNSAFE', 'ARCHIVE_TOO_LARGE']).toContain(error.code);
  expect(`${error.message}${JSON.stringify(error.details)}`).not.toMatch(/[\0-\x1f\x7f-\x9f\u202a-\u202e]/);
  expect(error.message.length).toBeLessThan(2000);
  if (process.platform === 'linux') expect(openDescriptors(base)).toEqual([]);
  return error;
}

export async function expectRefused(
  reason: RefusalReason,
  items: Item[],
  whole: Whole = {},
  limits: Partial<FolderLimits> = {},
) {
  const error = await refuse(makeZip(items, whole), limits);
  expect(error.details.reason, error.message).toBe(reason);
  return error;
}
