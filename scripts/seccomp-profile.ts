// deploy/seccomp.json, made of what runs may ask of the kernel and of what it takes to make a sandbox for them.
import { ALLOWED, CONDITIONAL } from '../src/sandbox/syscalls.ts';

/** bubblewrap and the helper make namespaces and mounts; that is all that a container of ours may do beyond its runs. */
const FOR_SANDBOXES = [
  'mount',
  'umount2',
  'pivot_root',
  'unshare',
  'sethostname',
  'mount_setattr',
  'open_tree',
  'move_mount',
  'openat2',
];
/** Node asks where its threads may run. */
const FOR_NODE = ['sched_setaffinity'];

const ENOSYS = 38;

/**
 * The conditions of the table hold inside each sandbox, by its own filter. Around it they cannot: bubblewrap itself makes user
 * namespaces and talks to the kernel over netlink. clone3 hides its flags, but here flags are not looked at.
 */
export function seccompProfile(): string {
  const names = [...new Set([...ALLOWED, ...Object.keys(CONDITIONAL), ...FOR_SANDBOXES, ...FOR_NODE])].sort();
  const profile = {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: ENOSYS,
    archMap: [
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
    ],
    syscalls: [{ names, action: 'SCMP_ACT_ALLOW' }],
  };
  return `${JSON.stringify(profile, null, 2)}\n`;
}
