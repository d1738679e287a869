/**
 * What a run may ask of the kernel, by name. Everything that is not here answers ENOSYS, as if the kernel were older:
 * programs have a fallback for that. `REFUSED` are those a person would look for in a message: they answer EPERM.
 * Measured against python3, node 24, bash, git, pip, npm and gcc.
 */
export const ALLOWED: readonly string[] = words(`
  read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close close_range lseek
  dup dup2 dup3 pipe pipe2 fcntl flock fsync fdatasync sync sync_file_range syncfs truncate ftruncate fallocate
  fadvise64 readahead copy_file_range sendfile splice tee vmsplice
  stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat
  getdents getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat
  link linkat symlink symlinkat chown fchown lchown fchownat umask utime utimes utimensat futimesat
  getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr
  removexattr lremovexattr fremovexattr
  inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
  poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
  eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
  mmap munmap mprotect mremap madvise msync mincore brk mlock mlock2 munlock mlockall munlockall
  pkey_alloc pkey_free pkey_mprotect membarrier
  fork vfork execve exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal
  rt_sigaction rt_sigprocmask rt_sigpending rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo
  rt_tgsigqueueinfo sigaltstack pause restart_syscall
  futex get_robust_list set_robust_list set_tid_address rseq arch_prctl set_thread_area get_thread_area
  getpid gettid getppid getpgid getpgrp setpgid getsid setsid
  getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid
  setfsuid setfsgid setgroups capget capset prctl seccomp landlock_create_ruleset landlock_add_rule
  landlock_restrict_self
  getrlimit setrlimit prlimit64 getrusage times sysinfo uname getcpu getrandom
  getpriority setpriority ioprio_get ioprio_set sched_yield sched_getaffinity sched_getparam sched_setparam
  sched_getscheduler sched_setscheduler sched_getattr sched_setattr sched_get_priority_max sched_get_priority_min
  sched_rr_get_interval
  time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer setitimer
  timer_create timer_settime timer_gettime timer_getoverrun timer_delete
  connect accept accept4 bind listen getsockname getpeername sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg
  shutdown setsockopt getsockopt
`);

export const REFUSED: readonly string[] = words(`
  mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
  setns unshare ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp
  io_uring_setup io_uring_enter io_uring_register io_setup io_submit io_destroy io_getevents io_pgetevents io_cancel
  keyctl add_key request_key bpf perf_event_open userfaultfd fanotify_init fanotify_mark
  init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct
  quotactl quotactl_fd syslog vhangup sethostname setdomainname settimeofday clock_settime clock_adjtime adjtimex
  iopl ioperm modify_ldt lookup_dcookie name_to_handle_at open_by_handle_at uselib nfsservctl sysfs ustat
  mbind set_mempolicy get_mempolicy migrate_pages move_pages set_mempolicy_home_node sched_setaffinity
  shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
  mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr memfd_secret
`);

const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;
const ESOCKTNOSUPPORT = 94;

/** A test on one argument's low 32 bits, which is all the kernel reads of these; `then` is an errno. */
export type ArgumentRule =
  | { kind: 'any-bit'; arg: number; bits: number; errno: number }
  | { kind: 'no-bit'; arg: number; bits: number; errno: number }
  | { kind: 'equals'; arg: number; mask: number; values: readonly number[]; errno: number }
  | { kind: 'not-equals'; arg: number; mask: number; values: readonly number[]; errno: number };

/** A rule with `when` is only looked at when one of these bits is set in that argument. */
export type ConditionalRule = ArgumentRule & { when?: { arg: number; bits: number } };

const ALL = 0xffffffff;
const NAMESPACES = 0x7e020000;
const SETID_BITS = 0o6000;
const FILE_TYPE = 0o170000;
const DEVICES = [0o020000, 0o060000];
const CREATES = 0o100 | 0o20000000; // O_CREAT, and the bit of its own in O_TMPFILE
const [UNIX, INET, INET6] = [1, 2, 10];

const noSetId = (arg: number): ConditionalRule => ({ kind: 'any-bit', arg, bits: SETID_BITS, errno: EPERM });
const noDevice = (arg: number): ConditionalRule => ({
  kind: 'equals',
  arg,
  mask: FILE_TYPE,
  values: DEVICES,
  errno: EPERM,
});

/** Allowed, but for these arguments. */
export const CONDITIONAL: Readonly<Record<string, readonly ConditionalRule[]>> = {
  // A nested user namespace gives back every capability inside it: the usual first step of a kernel exploit.
  clone: [{ kind: 'any-bit', arg: 0, bits: NAMESPACES, errno: EPERM }],
  // Its flags lie behind a pointer, which a filter cannot follow; the C libraries fall back to clone.
  clone3: [{ kind: 'any-bit', arg: 0, bits: 0, errno: ENOSYS }],
  // AF_VSOCK reaches a hypervisor, AF_ALG, AF_NETLINK and AF_PACKET much kernel code; a protocol may load a module.
  socket: [
    { kind: 'not-equals', arg: 0, mask: ALL, values: [UNIX, INET, INET6], errno: EAFNOSUPPORT },
    { kind: 'not-equals', arg: 1, mask: 0xf, values: [1, 2, 5], errno: ESOCKTNOSUPPORT },
    { kind: 'not-equals', arg: 2, mask: ALL, values: [0, 6, 17], errno: EPROTONOSUPPORT },
  ],
  socketpair: [{ kind: 'not-equals', arg: 0, mask: ALL, values: [UNIX], errno: EAFNOSUPPORT }],
  // TIOCSTI and TIOCLINUX type into a terminal that a person sits at.
  ioctl: [{ kind: 'equals', arg: 1, mask: ALL, values: [0x5412, 0x541c], errno: EPERM }],
  // Switching off address randomisation, or reading as another personality.
  personality: [{ kind: 'not-equals', arg: 0, mask: ALL, values: [0, ALL], errno: EPERM }],
  // Memory that can be executed would undo noexec; MFD_NOEXEC_SEAL takes that away.
  memfd_create: [{ kind: 'no-bit', arg: 1, bits: 0x8, errno: ENOSYS }],
  // A set-id file left in a workspace or in out would be the user's own, for every other user of the host.
  chmod: [noSetId(1)],
  fchmod: [noSetId(1)],
  fchmodat: [noSetId(2)],
  creat: [noSetId(1)],
  open: [{ ...noSetId(2), when: { arg: 1, bits: CREATES } }],
  openat: [{ ...noSetId(3), when: { arg: 2, bits: CREATES } }],
  mknod: [noSetId(1), noDevice(1)],
  mknodat: [noSetId(2), noDevice(2)],
};

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
