import { createHash } from 'node:crypto';
import { type JsonObject, type JsonValue, stableJson } from '../base/index.ts';
import type { Grant, Target } from '../policy/index.ts';

/** What an approval is for. One byte of any of it that changes, and nobody has approved. */
export type Bound = {
  dialect: string;
  /** Over all files of the skill. */
  digest: string;
  target: Target;
  grant: Grant;
  /** The digest of the image, also of one that stands in for the host's own programs; null on these. */
  image: string | null;
  /** What its capabilities stand for (secrets' `meaningOf`); null without any that stand for something. */
  meaning: string | null;
  /** One line per package manager, as `lockOf` writes it. */
  locks: string[];
};

/** What "once" is bound to beyond that: this call and no other. */
export type CallFacts = {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: string | null;
  /** What the run finds in files: its input. */
  texts: readonly { at: string; text: string }[];
  limits: Readonly<Record<string, number>>;
};

/** A layer's key is made of its lock (layers/lock); one that nobody has resolved yet equals no other. */
export function lockOf(manager: string, key: string | null): string {
  return `${manager}:${key ?? 'unresolved'}`;
}

/** For "always", and for having been approved before. */
export function bindingKey(bound: Bound): string {
  return keyOf('binding', describe(bound));
}

/**
 * For "deny always": the same content and target, whatever it would be granted. Otherwise another workspace or another
 * variable would be enough to be asked again. Nor does it matter in which format the caller says that the skill is, or
 * whether its entrypoint is called by its own path: the same file would run.
 */
export function refusalKey({ digest, target }: Pick<Bound, 'digest' | 'target'>): string {
  const { kind, name } = target;
  return keyOf('refusal', { digest, target: { kind: kind === 'main' ? 'script' : kind, name } });
}

/** For "once". */
export function callKey(bound: Bound, call: CallFacts): string {
  const { argv, cwd, env, stdin, texts, limits } = call;
  return keyOf('call', {
    bound: describe(bound),
    call: {
      argv: [...argv],
      cwd,
      env: { ...env },
      stdin,
      texts: texts.map(text => ({ ...text })),
      limits: { ...limits },
    },
  });
}

/** The same skill in another version: the same name in the same place. Only ever used to show what changed. */
export function originKey(dialect: string, name: string, place: string): string {
  return keyOf('origin', { dialect, name, place });
}

function describe({ dialect, digest, target, grant, image, meaning, locks }: Bound): JsonObject {
  const all = { dialect, digest, target: { ...target }, grant: grant as JsonValue, image, locks: [...locks].sort() };
  return meaning === null ? all : { ...all, meaning };
}

/** The purpose is hashed too: no key of one kind can stand for another. */
function keyOf(purpose: string, value: JsonObject): string {
  return createHash('sha256')
    .update(stableJson({ purpose: `skillbox-approval-1/${purpose}`, value }))
    .digest('hex');
}
