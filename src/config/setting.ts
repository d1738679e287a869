import type { Kind } from './kinds.ts';

/** A value that nobody prints: it is asked for by whoever needs it, and stands in no JSON. */
export type Secret = {
  readonly source: { kind: 'text'; from: string } | { kind: 'file'; path: string };
  /** Reads its file, where it is in one. */
  read(): string;
};

/** Where the commands of a person and those of a server differ. */
export type Role = 'command' | 'server';

export type Form<T> =
  | { kind: 'one'; of: Kind<T> }
  /** `separator`: between the items in a variable or a flag. In the file it is a list. */
  | { kind: 'list'; of: Kind<unknown>; separator: RegExp }
  | { kind: 'secret' };

/** One setting. Its file, environment, flags and documentation all come from this. */
export type Setting<T> = {
  form: Form<T>;
  /** What it is for, in a sentence. */
  help: string;
  /** What holds when nobody says anything. `env` is there for the directories of the user. */
  fallback: (env: NodeJS.ProcessEnv, role: Role) => T;
  /** The same in words, where the value alone would not tell. */
  fallbackText: string | null;
  /** Null: made of the name. */
  variable: string | null;
  /** A flag of commands, without the dashes. */
  flag: string | null;
  /** Set to nothing counts as nothing in the list, not as not set. */
  emptyCounts: boolean;
};

type About<T> = {
  help: string;
  variable?: string;
  flag?: string;
  emptyCounts?: boolean;
  fallbackText?: string;
} & ({ fallback: T; serving?: T } | { fallbackFrom: (env: NodeJS.ProcessEnv) => T });

function make<T>(form: Form<unknown>, about: About<T>): Setting<T> {
  return {
    form: form as Form<T>,
    help: about.help,
    fallback: fallbackOf(about),
    fallbackText: about.fallbackText ?? null,
    variable: about.variable ?? null,
    flag: about.flag ?? null,
    emptyCounts: about.emptyCounts ?? false,
  };
}

function fallbackOf<T>(about: About<T>): Setting<T>['fallback'] {
  if ('fallbackFrom' in about) return about.fallbackFrom;
  const { fallback, serving } = about;
  return (_env, role) => (role === 'server' && serving !== undefined ? serving : fallback);
}

export function one<T>(of: Kind<T>, about: About<T>): Setting<T> {
  return make({ kind: 'one', of }, about);
}

/** Nobody need say anything about it. */
export function optional<T>(of: Kind<T>, about: Omit<About<T>, 'fallback' | 'serving'>): Setting<T | null> {
  return make<T | null>({ kind: 'one', of }, { ...about, fallback: null });
}

const BLANKS_OR_COMMAS = /[\s,]+/;

type AboutList<L> = Omit<About<L>, 'fallback' | 'serving'> & { fallback?: L; separator?: RegExp };

export function list<E>(of: Kind<E>, about: AboutList<readonly E[]>): Setting<readonly E[]> {
  const { separator = BLANKS_OR_COMMAS, fallback = [] } = about;
  return make({ kind: 'list', of, separator }, { ...about, fallback });
}

/** Null when nobody gave a list; an empty one is a list. */
export function optionalList<E>(of: Kind<E>, about: AboutList<readonly E[] | null>): Setting<readonly E[] | null> {
  const { separator = BLANKS_OR_COMMAS } = about;
  return make<readonly E[] | null>({ kind: 'list', of, separator }, { ...about, fallback: null });
}

export function secret(about: { help: string; variable?: string }): Setting<Secret | null> {
  return make<Secret | null>({ kind: 'secret' }, { ...about, fallback: null });
}
