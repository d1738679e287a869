import type { Grant } from './policy.ts';

/**
 * Whether anything that a run does may outlast the machine's next moment: only what leaves the sandbox can. Without it the run,
 * what it wrote and what is known of it would all be gone together in a power cut.
 */
export function leavesTraces({ network, secrets, workspace, paths, isolated }: Grant): boolean {
  const writes = workspace?.writable === true || paths.some(({ writable }) => writable);
  return !isolated || network.kind !== 'none' || secrets.length > 0 || writes;
}

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
