import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { GivenAnswer } from '../approvals/index.ts';
import { readSkill } from '../dialects/index.ts';
import { type DiffSide, diffSkills, digestFiles, type Folder } from '../skill/index.ts';
import type { Runner, RunRequest } from './plan.ts';
import type { Change } from './question.ts';
import { openKept, snapshotPath } from './snapshot.ts';

/** GB-18: what differs from the content that was approved before; that content was kept by its digest. */
export async function describeChange(
  { dataDirectory }: Runner,
  { folder, skill }: RunRequest,
  previous: GivenAnswer | null,
): Promise<Change | null> {
  if (previous === null) return null;
  const { createdAt: approvedAt } = previous;
  const { digest } = previous.bound;
  const snapshots = join(dataDirectory, 'snapshots');
  if (!existsSync(snapshotPath(snapshots, digest))) return { approvedAt, digest, diff: null };
  const kept = openKept(snapshots, digest, folder);
  try {
    const before = readSkill(kept, { mode: 'lenient', dialect: skill.dialect }).skill;
    return { approvedAt, digest, diff: diffSkills(await sideOf(kept, before), await sideOf(folder, skill)) };
  } finally {
    kept.close();
  }
}

async function sideOf(folder: Folder, skill: DiffSide['skill']): Promise<DiffSide> {
  return { folder, skill, digests: await digestFiles(folder) };
}
