import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import type { DockerFacts } from './docker-plan.ts';
import { type Held, hold, type Identity, identityAt, refuseLink } from './hold.ts';
import { type ProtectionPlan, planProtection } from './protect.ts';
import type { RunSpec, SandboxMount } from './sandbox.ts';
import { filterFor } from './seccomp.ts';

type BindMount = Extract<SandboxMount, { kind: 'bind' }>;

/**
 * Workspaces, by their place inside, held open until the container has compared them with what the engine mounted. Elsewhere
 * than on Linux the engine is in a machine of its own, where neither device nor inode mean the same: nothing is held there,
 * and the driver does not promise the guarantee.
 */
export type Workspaces = ReadonlyMap<string, Held>;

export const isWorkspace = (mount: SandboxMount): mount is BindMount =>
  mount.kind === 'bind' && (mount.writable || mount.protect !== null);

export const canCompare = (): boolean => process.platform === 'linux';

export function holdWorkspaces(spec: RunSpec): Workspaces {
  const held = new Map<string, Held>();
  try {
    for (const mount of spec.mounts) if (isWorkspace(mount) && canCompare()) held.set(mount.at, hold(mount.source));
  } catch (error) {
    for (const each of held.values()) each.close();
    throw error;
  }
  return held;
}

/**
 * The engine has no id-mapped mounts: whoever writes to a workspace must be its owner. Root would be root on the host's
 * files, so a workspace of root's is refused.
 */
export async function ownerOfWritable(
  spec: RunSpec,
  workspaces: Workspaces,
): Promise<{ uid: number; gid: number } | null> {
  for (const mount of spec.mounts.filter(isWorkspace)) {
    const { uid, gid } = workspaces.get(mount.at) ?? (await lstat(mount.source));
    if (uid === 0 && !mount.writable) continue;
    if (uid === 0)
      throw new SkillboxError(
        'SANDBOX_CANNOT_ENFORCE',
        `The docker sandbox cannot write to ${mount.source}, which belongs to root, without being root.`,
        {
          hint: 'Use the bubblewrap sandbox, or a workspace that belongs to an ordinary user.',
        },
      );
    return { uid, gid };
  }
  return null;
}

/** What every container has in place of the host's own: no engine's copy of these says anything of the host. */
const ETC = { hosts: '127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n', 'resolv.conf': '', hostname: 'sandbox\n' };

type Known = Pick<DockerFacts, 'image' | 'engine' | 'runtime' | 'user' | 'helper' | 'labels'>;

/** Looks at the host for what one run needs, and lays out its own files in `directory`, which is closed to everyone else. */
export async function gatherFacts(
  spec: RunSpec,
  directory: string,
  known: Known,
  workspaces: Workspaces,
): Promise<DockerFacts> {
  const files = new Map<string, string>();
  const etc = new Map<string, string>();
  const masks = { file: join(directory, 'mask'), directory: join(directory, 'mask.d') };
  await writeFile(masks.file, '', { mode: 0 });
  await mkdir(masks.directory, { mode: 0 });
  for (const [name, text] of Object.entries(ETC)) {
    const path = join(directory, name);
    await writeFile(path, text, { mode: 0o444 });
    etc.set(`/etc/${name}`, path);
  }
  const guarded: Guarded = { protections: new Map(), directories: new Set(), identities: new Map() };
  for (const [index, mount] of spec.mounts.entries()) {
    if (mount.kind === 'bind') await lookAtBind(mount, masks, workspaces, guarded);
    else if (mount.kind !== 'tmpfs')
      files.set(mount.at, await layOut(mount, join(directory, String(index)), known.user));
  }
  return {
    ...known,
    masks,
    etc,
    filter: filterFor(process.arch),
    nonce: randomBytes(24).toString('hex'),
    files,
    ...guarded,
  };
}

async function layOut(
  mount: Extract<SandboxMount, { kind: 'text' | 'out' }>,
  path: string,
  user: { uid: number; gid: number },
): Promise<string> {
  const own = async (made: string) => {
    if (process.getuid?.() === 0) await chown(made, user.uid, user.gid);
  };
  if (mount.kind === 'text') {
    await writeFile(path, mount.text, { mode: 0o400 });
    await own(path);
    return path;
  }
  for (const made of [path, ...mount.directories.map(name => join(path, name))]) {
    await mkdir(made, { mode: 0o700 });
    await own(made);
  }
  return path;
}

type Guarded = {
  protections: Map<string, ProtectionPlan>;
  directories: Set<string>;
  identities: Map<string, Identity & { readOnly: boolean }>;
};

/** WS-10: what is to be mounted over the workspace, and what must be found there once it is. */
async function lookAtBind(
  mount: BindMount,
  masks: DockerFacts['masks'],
  workspaces: Workspaces,
  { protections, directories, identities }: Guarded,
): Promise<void> {
  refuseLink(mount.source);
  const held = workspaces.get(mount.at);
  const expect = (path: string, identity: Identity, readOnly: boolean) => {
    if (held !== undefined) identities.set(join(mount.at, path), { ...identity, readOnly });
  };
  if (held !== undefined) expect('', held, !mount.writable);
  if (mount.protect === null) return;
  const plan = await planProtection(mount.source, mount.protect);
  protections.set(mount.at, plan);
  for (const path of plan.hidden) {
    const folder = (await lstat(join(mount.source, path))).isDirectory();
    if (folder) directories.add(join(mount.source, path));
    expect(path, identityAt(folder ? masks.directory : masks.file), true);
  }
  if (!mount.writable || held === undefined) return;
  for (const path of plan.hold) expect(path, identityAt(join(mount.source, path)), false);
  for (const path of plan.readOnly) expect(path, identityAt(join(mount.source, path)), true);
}
