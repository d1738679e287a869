import type { Known } from '../approvals/index.ts';
import { type Call, readSkill, renderPreview } from '../dialects/index.ts';
import type { Answer, Channel, Decision, Grant, Target, Trust } from '../policy/index.ts';
import { diffSkills, digestFiles, openFolder, type Skill, type SkillDiff } from '../skill/index.ts';
import type { Planned } from './plan.ts';
import { snapshotPath } from './snapshot.ts';

/** Everything that a person is shown before they answer; the same whatever the channel. */
export type Question = {
  /** The run that waits; null while it has no record. */
  runId: string | null;
  skill: {
    name: string;
    version: string | null;
    description: string;
    dialect: string;
    digest: string;
    /** Where it lies. */
    place: string;
  };
  target: Target;
  trust: Trust;
  /** Nobody vouches for the source: say so above everything else. */
  banner: boolean;
  /** Why it is asked, and what goes beyond the least power. */
  reasons: string[];
  grant: Grant;
  preview: Preview;
  /** The version that was approved before in this place, and what differs. */
  change: Change | null;
  /** Why earlier answers do not count; null when they do. */
  problem: string | null;
  /** What may be answered, by the channel that the answer comes through. */
  answers: Partial<Record<Channel, readonly Answer[]>>;
};

/** The exact command, and what stands around it. */
export type Preview = {
  argv: string[];
  /** A tool's command with its places for values (GB-18); null for what is no tool. */
  template: string | null;
  cwd: string;
  /** Names only: a value may be a secret. */
  env: string[];
  mounts: { at: string; kind: string; source: string | null; writable: boolean }[];
  network: string;
  limits: Record<string, number>;
  runtime: string;
  image: string | null;
  dependencies: { manager: string; lock: string | null }[];
  inputBytes: number;
};

export type Change = { approvedAt: number; digest: string; diff: SkillDiff };

export function previewOf(skill: Skill, { target, input }: Call, { spec, layers, image }: Planned): Preview {
  const tool = target.kind === 'tool' ? skill.tools.find(({ name }) => name === target.name) : undefined;
  return {
    argv: [...spec.argv],
    template: tool === undefined ? null : renderPreview(tool),
    cwd: spec.cwd,
    env: Object.keys(spec.env).sort(),
    mounts: spec.mounts.map(mount => ({
      at: mount.at,
      kind: mount.kind,
      source: mount.kind === 'bind' ? mount.source : null,
      writable: mount.kind === 'bind' ? mount.writable : mount.kind !== 'text',
    })),
    network: spec.network.kind,
    limits: { ...spec.limits },
    runtime: spec.runtime.kind === 'image' ? spec.runtime.name : 'host',
    image,
    dependencies: layers.map(({ manager, key }) => ({ manager, lock: key })),
    inputBytes: Buffer.byteLength(JSON.stringify(input ?? null)),
  };
}
