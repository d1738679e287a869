import { redactText } from '../audit/index.ts';
import { renderPreview } from '../dialects/index.ts';
import type { Answer, Channel, Grant, NetworkGrant, Target, Trust } from '../policy/index.ts';
import type { SkillDiff } from '../skill/index.ts';
import type { Considered } from './consider.ts';
import type { Notes } from './notes.ts';
import type { Planned, RunRequest } from './plan.ts';

const SHOWN_INPUT = 2000;

/** Everything that a person is shown before they answer; the same whatever the channel. */
export type Question = {
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
  /** Nobody vouches for the source: it is said above everything else. */
  banner: boolean;
  /** Why it is asked, what goes beyond the least power, and what could carry data to others. */
  reasons: string[];
  grant: Grant;
  preview: Preview;
  /** What else should be known of this call: a value that looks like an option, a limit that was lowered, a secret that is not set. */
  warnings: string[];
  /** The content that was approved before under this name in this place, and what differs. */
  change: Change | null;
  /** Why earlier answers do not count; null when they do. */
  problem: string | null;
  /** What may be answered, by the channel that the answer comes through. */
  answers: Partial<Record<Channel, readonly Answer[]>>;
  /** How long "always" lasts. */
  alwaysMs: number;
};

/** GB-18: the exact command, and what stands around it. */
export type Preview = {
  argv: string[];
  /** A tool's command with its places for values; null for what is no tool. */
  template: string | null;
  cwd: string;
  /** Names only: a value may be a secret. */
  env: string[];
  /** `skill`: the copy of the skill itself. */
  mounts: { at: string; kind: string; source: string | null; writable: boolean }[];
  network: string;
  limits: Record<string, number>;
  runtime: string;
  image: string | null;
  dependencies: { manager: string; lock: string | null }[];
  /** The beginning of it, without what looks like a secret. */
  input: string;
  inputBytes: number;
};

/** `diff` is null where the approved content is not kept any more. */
export type Change = { approvedAt: number; digest: string; diff: SkillDiff | null };

/** How an answer comes back. */
export type Reply = { answer: Answer; channel: Channel; by: string };

export function makeQuestion(
  request: RunRequest,
  considered: Considered,
  change: Change | null,
  { carriers, unset }: Notes,
): Question {
  const { skill, folder } = request;
  const { asked, decision, known, planned, terms } = considered;
  return {
    skill: {
      name: skill.name,
      version: skill.version,
      description: skill.description,
      dialect: skill.dialect,
      digest: planned.snapshot.digest,
      place: folder.origin.path,
    },
    target: asked.target,
    trust: asked.trust,
    banner: decision.banner,
    reasons: [...decision.reasons, ...carriers],
    grant: asked.grant,
    preview: previewOf(request, planned, asked.grant),
    warnings: [...planned.warnings, ...unset],
    change,
    problem: known.problem,
    answers: Object.fromEntries(decision.answers),
    alwaysMs: terms.alwaysMs,
  };
}

function previewOf(
  { skill, call }: RunRequest,
  { spec, layers, image, standIn, snapshot }: Planned,
  grant: Grant,
): Preview {
  const { target, input } = call;
  const text = JSON.stringify(input ?? null);
  const tool = target.kind === 'tool' ? skill.tools.find(({ name }) => name === target.name) : undefined;
  return {
    argv: [...spec.argv],
    template: tool === undefined ? null : renderPreview(tool),
    cwd: spec.cwd,
    env: Object.keys(spec.env).sort(),
    mounts: spec.mounts.map(mount => ({
      at: mount.at,
      kind: mount.kind === 'bind' && mount.source.startsWith(snapshot.path) ? 'skill' : mount.kind,
      source: mount.kind === 'bind' ? mount.source : null,
      writable: mount.kind === 'bind' ? mount.writable : mount.kind !== 'text',
    })),
    network: describeNetwork(grant.network),
    limits: { ...spec.limits },
    runtime: spec.runtime.kind === 'image' ? spec.runtime.name : (standIn?.name ?? 'host'),
    image: image ?? standIn?.digest.replace('sha256:', '') ?? null,
    dependencies: layers.map(({ manager, key }) => ({ manager, lock: key })),
    input: redactText(text.slice(0, SHOWN_INPUT)),
    inputBytes: Buffer.byteLength(text),
  };
}

function describeNetwork(network: NetworkGrant): string {
  switch (network.kind) {
    case 'none':
      return 'none';
    case 'broker':
      return 'the secrets broker';
    case 'hosts':
      return network.hosts.join(', ');
    case 'public':
      return 'any public address';
  }
}
