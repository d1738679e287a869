import { dirname, join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { isOwnPlace, type RunSpec, type SandboxMount } from './sandbox.ts';

/** Places that are not the spec's to mount on, and mounts that would make something appear in a bind on the host. */
export function checkMounts(spec: RunSpec, exists: (path: string) => boolean): void {
  const refuse = (at: string, why: string): never => {
    throw new SkillboxError('INTERNAL', `The sandbox cannot mount at ${at}: ${why}.`);
  };
  const seen: SandboxMount[] = [];
  for (const mount of spec.mounts) {
    if (isOwnPlace(mount.at)) refuse(mount.at, 'the place belongs to the sandbox');
    for (const other of seen) {
      if (other.at === mount.at) refuse(mount.at, 'it is mounted twice');
      if (other.kind === 'bind' && mount.at.startsWith(`${other.at}/`)) {
        const path = join(other.source, mount.at.slice(other.at.length));
        if (!exists(path)) refuse(mount.at, `${path} does not exist, and would have to be made in ${dirname(path)}`);
      }
    }
    seen.push(mount);
  }
}
