import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Guards, isShared, readGuarded, thisAccount } from '../base/index.ts';
import { SHIPPED } from './defaults.ts';

import type { Judge } from './judge.ts';
import { realPath } from './place.ts';
import { MAX_POLICY_BYTES, readPolicy, type Scope, unusablePolicy } from './read.ts';
import type { PolicyDiagnostic } from './read-node.ts';
import type { Policies, Policy } from './rules.ts';
import { trustOf } from './trust.ts';
import type { TrustStore } from './trust-store.ts';

export type JudgeOptions = {
  /** The user's own policy file; it need not be there. Null: there is no place for one. */
  userPolicy: string | null;
  /** Where the caller stands; null for a server, which stands nowhere. */
  directory: string | null;
  bundled: readonly string[];
  own: readonly string[];
  store: TrustStore;
};

const PROJECT_FILE = '.skillbox/policy.yaml';

export function createJudge({ userPolicy, directory, bundled, own, store }: JudgeOptions): Judge {
  return {
    directory,
    policies: (...places): Policies => ({
      user: userPolicy === null ? null : loadPolicy(userPolicy, 'user'),
      shipped: SHIPPED,
      projects: projectFiles([directory, ...places]).flatMap(path => loadPolicy(path, 'project') ?? []),
      at: Date.now(),
    }),
    vouch(place) {
      const { entries, fault } = store.read();
      const named = (kind: 'path' | 'publisher') => entries.filter(one => one.kind === kind).map(one => one.value);
      const account = thisAccount();
      const paths = named('path');
      const publishers = named('publisher');
      const vouched = trustOf(place, { bundled, own, paths, publishers, account });
      if (fault === null || vouched.trust !== 'untrusted') return vouched;
      return { ...vouched, why: `${vouched.why} What you trusted cannot be read: ${fault}.` };
    },
  };
}

/** Null when there is no such file. One that cannot be used denies everything (fail closed). */
export function loadPolicy(path: string, scope: Scope): Policy | null {
  const found = readGuarded(path, guardsOf(scope));
  if (found === null) return null;
  return 'fault' in found ? unusablePolicy(path, `${found.fault}.`) : readPolicy(found.text, path, scope).policy;
}

/** What is wrong with a file, for whoever writes one; null when there is no such file. */
export function checkPolicy(
  path: string,
  scope: Scope | null,
): { scope: Scope; diagnostics: PolicyDiagnostic[] } | null {
  const as = scope ?? (path.endsWith(`/${PROJECT_FILE}`) ? 'project' : 'user');
  const found = readGuarded(path, guardsOf(as));
  if (found === null) return null;
  if ('text' in found) return { scope: as, diagnostics: readPolicy(found.text, path, as).diagnostics };
  const hint = 'Nothing runs while a policy is in such a state.';
  return { scope: as, diagnostics: [{ file: path, line: 1, column: 1, message: found.fault, hint }] };
}

/** The user's own may be a link into a folder of settings; a stranger's link could make us read anything. */
function guardsOf(scope: Scope): Guards {
  return { maxBytes: MAX_POLICY_BYTES, mine: scope === 'user', links: scope === 'user' };
}

/**
 * The files of projects that hold these directories: from each up to the root of its repository, all of them, because an inner
 * one must not undo an outer one. Outside a repository only the directory's own.
 */
function projectFiles(from: readonly (string | null)[]): string[] {
  const files = new Set<string>();
  for (const start of from) {
    const real = start === null ? null : realPath(start);
    if (real === null) continue;
    const way = wayUp(real);
    const root = way.findIndex(path => existsSync(join(path, '.git')) && !isShared(path));
    for (const path of way.slice(0, root === -1 ? 1 : root + 1)) files.add(join(path, PROJECT_FILE));
  }
  return [...files];
}

function wayUp(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...wayUp(parent)];
}
