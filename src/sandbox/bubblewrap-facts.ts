import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BubblewrapOptions } from './bubblewrap.ts';
import type { Usable } from './bubblewrap-berth.ts';
import { type Facts, INSIDE_UID, isStaged } from './bubblewrap-plan.ts';
import type { Controller } from './cgroup-find.ts';
import { type Identity, identityAt, refuseLink } from './hold.ts';
import { type ProtectionPlan, planProtection } from './protect.ts';
import { hostRoot, imageRoot, placesOf, resolveProgram } from './runtime.ts';
import type { RunSpec } from './sandbox.ts';
import { filterFor } from './seccomp.ts';
import { makeEtc, realPathOf } from './state.ts';

const ETC_BINDS = ['/etc/ld.so.cache', '/etc/alternatives'];

const etcs = new Map<string, Promise<string>>();

/** Once per process: our own directory, which nobody else writes to. */
function etcOf(stateDir: string): Promise<string> {
  const made = etcs.get(stateDir) ?? makeEtc(stateDir, INSIDE_UID);
  etcs.set(stateDir, made);
  made.catch(() => etcs.delete(stateDir));
  return made;
}

/** Looks at the host for what one run needs, and lays out its own files. */
export async function gatherFacts(
  spec: RunSpec,
  found: Usable,
  options: BubblewrapOptions,
  directory: string,
  uid: number | null,
  tmpfs: boolean,
): Promise<Facts> {
  const files = new Map<string, string>();
  const protections = new Map<string, ProtectionPlan>();
  const identities = new Map<string, Identity>();
  const disk = join(directory, 'disk');
  // Synchronous where it is a system call or two: under load every trip to the thread pool costs more than the work.
  if (tmpfs && spec.mounts.some(mount => mount.kind === 'out')) mkdirSync(disk, { mode: 0o700 });
  const staged = uid !== null && isStaged(spec);
  for (const [index, mount] of spec.mounts.entries()) {
    if (mount.kind === 'text') {
      if (staged) continue;
      const path = join(directory, `text-${index}`);
      writeFileSync(path, mount.text, { mode: 0o400, flag: 'wx' });
      if (uid !== null) chownSync(path, uid, uid);
      files.set(mount.at, path);
    } else if (mount.kind === 'out') {
      const path = tmpfs ? join(disk, String(index)) : join(directory, `out-${index}`);
      files.set(mount.at, path);
      if (!tmpfs) for (const made of [path, ...mount.directories.map(name => join(path, name))]) makeOwned(made, uid);
    } else if (mount.kind === 'bind') {
      refuseLink(mount.source);
      const isInside = spec.mounts.some(other => mount.at.startsWith(`${other.at}/`));
      if (mount.protect !== null || isInside) identities.set(mount.at, identityAt(mount.source));
      if (mount.protect === null) continue;
      protections.set(mount.at, await planProtection(mount.source, mount.protect));
    }
  }
  if (spec.network.kind === 'egress') refuseLink(spec.network.socket);
  const host = spec.runtime.kind === 'host';
  const name = spec.argv[0] ?? '';
  const names = spec.runtime.kind === 'host' ? [...(name.includes('/') ? [] : [name]), ...spec.runtime.also] : [];
  const programs = await Promise.all(
    [...new Set(names)].map(wanted => resolveProgram(wanted, options.search, options.stateDir)),
  );
  return {
    bwrap: found.tools.bwrap,
    helper: found.tools.helper,
    filter: filterFor(process.arch),
    runAs: uid === null ? null : { uid, gid: uid },
    root:
      spec.runtime.kind === 'image'
        ? await imageRoot(spec.runtime.name, spec.runtime.root, placesOf(spec))
        : hostRoot(),
    etc: host ? await etcOf(options.stateDir) : null,
    etcBinds: host ? ETC_BINDS.filter(path => existsSync(path)).map(at => ({ source: realPathOf(at), at })) : [],
    // The first is what argv[0] became; an absolute path is taken as it is.
    programs: name.includes('/')
      ? [{ used: { name, version: null, from: 'host', path: name }, real: name, mounts: [], bin: null }, ...programs]
      : programs,
    cgroup: new Set(found.cgroups?.parents.keys() ?? ([] as Controller[])),
    outTmpfs: tmpfs && spec.mounts.some(mount => mount.kind === 'out') ? disk : null,
    files,
    protections,
    identities,
  };
}

function makeOwned(path: string, uid: number | null): void {
  mkdirSync(path, { mode: 0o700 });
  if (uid !== null) chownSync(path, uid, uid);
}
