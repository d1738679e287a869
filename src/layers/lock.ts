import { createHash } from 'node:crypto';
import { stableJson } from '../base/index.ts';
import type { Manifest } from './manifest.ts';

/** What a manifest was resolved to. `hashed`: the text names the content of every package, whoever delivers it. */
export type Lock = { text: string; hashed: boolean };

export type Allowed = { sources: boolean; scripts: boolean };

export type KeyFacts = {
  /** Interpreter with its version, and platform. */
  identity: string;
  tenant: string;
  allow: Allowed;
};

/** What was asked for: the same answer is reused for it, so a tenant's own. */
export function inputKey(manifest: Manifest, indexes: string, facts: KeyFacts): string {
  const asked =
    manifest.manager === 'pip' ? manifest.requirements : [manifest.packageJson, manifest.lock?.text ?? null];
  return digest([manifest.manager, asked, indexes, facts.identity, facts.tenant, { ...facts.allow }]);
}

/** What it is made of. Fully hashed, it is the same for everyone; otherwise one tenant's index must not feed another. */
export function layerKey(manifest: Manifest, lock: Lock, facts: KeyFacts): string {
  const { identity, tenant, allow } = facts;
  const shared = lock.hashed && !allow.scripts;
  return digest([manifest.manager, lock.text, identity, shared ? null : tenant, { ...allow }]);
}

function digest(value: Parameters<typeof stableJson>[0]): string {
  return createHash('sha256').update(stableJson(value)).digest('hex');
}
