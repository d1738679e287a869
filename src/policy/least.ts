import type { Grant } from './policy.ts';

/**
 * What of a grant goes beyond the least power, one sentence each; empty when nothing does. The least power is what the sandbox
 * is for: no network, no secret, nothing of the host but the workspace that the caller named, and isolation.
 */
export function beyondLeast({ network, secrets, paths, isolated }: Grant): string[] {
  const sentences: string[] = [];
  if (!isolated) sentences.push('It runs without isolation: it can do all that your account can.');
  if (network.kind === 'broker') sentences.push('It reaches the secrets broker.');
  if (network.kind === 'hosts') sentences.push(`It reaches ${network.hosts.join(', ') || 'hosts that are not named'}.`);
  if (network.kind === 'public') sentences.push('It reaches any public address.');
  if (secrets.length > 0) sentences.push(`It uses ${secrets.join(', ')}.`);
  for (const { path, writable } of paths) sentences.push(`It ${writable ? 'writes' : 'reads'} ${path}.`);
  return sentences;
}
