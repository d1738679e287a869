import { createHash } from 'node:crypto';
import { type JsonValue, SkillboxError, stableJson, suggest, visibleLine } from '../base/index.ts';
import { capabilitiesOf } from './catalog.ts';
import { customKeyOf } from './names.ts';
import type { Provider, ProviderEndpoint } from './provider.ts';

/** One thing that was granted, with the data that it stands for. */
export type Capability =
  | { kind: 'endpoint'; name: string; provider: Provider; endpoint: ProviderEndpoint }
  | { kind: 'custom'; name: string; key: string };

export type Resolved = { capabilities: Capability[]; warnings: string[] };

/**
 * SK-05: exactly what the skill declared, if all of it was granted. Fewer would let it run half armed, more would hand it what
 * nobody looked at; both are refused. `granted` is what policy and people said yes to.
 */
export function requireWhole(declared: readonly string[], granted: readonly string[]): void {
  const missing = declared.find(name => !granted.includes(name));
  if (missing !== undefined) throw refused(missing, 'was not granted');
  const surplus = granted.find(name => !declared.includes(name));
  if (surplus !== undefined) throw refused(surplus, 'was granted, but the skill does not declare it');
}

/** SK-04: `provider/endpoint`, `provider/*` for all of a provider's, `custom/KEY`. Anything else is refused. */
export function resolveCapabilities(names: readonly string[], providers: readonly Provider[]): Resolved {
  const found = new Map<string, Capability>();
  const warnings: string[] = [];
  for (const name of names) {
    const resolved = resolve(name, providers);
    if (name.endsWith('/*')) warnings.push(`${name} stands for ${resolved.map(each => each.name).join(', ')}`);
    for (const each of resolved) found.set(each.name, each);
  }
  return { capabilities: [...found.values()], warnings };
}

function resolve(name: string, providers: readonly Provider[]): Capability[] {
  const key = customKeyOf(name);
  if (key !== null) return [{ kind: 'custom', name, key }];
  const cut = name.indexOf('/');
  const provider = providers.find(each => cut > 0 && each.name === name.slice(0, cut));
  if (provider === undefined) throw unknown(name, providers);
  const wanted = name.slice(cut + 1);
  const endpoints = provider.endpoints.filter(endpoint => wanted === '*' || endpoint.name === wanted);
  if (endpoints.length === 0) throw unknown(name, providers);
  return endpoints.map(endpoint => ({
    kind: 'endpoint',
    name: `${provider.name}/${endpoint.name}`,
    provider,
    endpoint,
  }));
}

/** What can carry data to others, said before anybody agrees to it. Unknown names say nothing: they are refused later. */
export function describeCarriers(names: readonly string[], providers: readonly Provider[]): string[] {
  return knownAmong(names, providers).flatMap(each =>
    each.kind === 'endpoint' && each.endpoint.carriesOut
      ? [`With ${each.name} it can ${each.endpoint.what}: others can read what it sends.`]
      : [],
  );
}

export function knownAmong(names: readonly string[], providers: readonly Provider[]): Capability[] {
  return names.flatMap(name => {
    try {
      return resolve(name, providers);
    } catch {
      return []; // refused when a token is asked for
    }
  });
}

/**
 * What these stand for now, as a digest: an answer holds for that, and not for what else the operator's data may say under the same
 * names tomorrow. Null where there is nothing but custom secrets, which stand for themselves.
 */
export function meaningOf(names: readonly string[], providers: readonly Provider[]): string | null {
  const meant = knownAmong(names, providers).flatMap(each => {
    if (each.kind === 'custom') return [];
    const { scheme, host, port, auth, allowPrivate } = each.provider;
    return [{ name: each.name, scheme, host, port, auth, allowPrivate, endpoint: each.endpoint }];
  });
  if (meant.length === 0) return null;
  const sorted = meant.sort((a, b) => (a.name < b.name ? -1 : 1));
  return createHash('sha256')
    .update(stableJson(sorted as unknown as JsonValue))
    .digest('hex');
}

function unknown(name: string, providers: readonly Provider[]): SkillboxError {
  const meant = suggest(name, capabilitiesOf(providers));
  const shown = visibleLine(name, 120);
  return new SkillboxError('CAPABILITY_UNKNOWN', `nobody knows the capability ${shown}`, {
    ...(meant === null ? {} : { hint: `Did you mean ${meant}? \`skillbox provider list\` shows all.` }),
    details: { capability: name },
  });
}

function refused(name: string, why: string): SkillboxError {
  return new SkillboxError('CAPABILITY_REFUSED', `the capability ${visibleLine(name, 120)} ${why}`, {
    details: { capability: name },
  });
}
