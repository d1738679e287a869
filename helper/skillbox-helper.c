/*
 * skillbox-helper: what the sandbox needs and TypeScript cannot do.
 *
 *   keep     outside, once for a runtime. Forks a launcher for every connection to its socket: a fork of this small
 *            process takes a tenth of one of the runtime, which stands still meanwhile. Unmounts what launchers mounted.
 *            A launcher joins the cgroups, makes the pipes of the run, and (as root) builds a private mount namespace
 *            in which every source is reachable for the run's uid, takes that uid, and becomes bwrap.
 *   init     inside, as PID 1. Mounts noexec tmpfs, makes WS-10 paths read-only, sets rlimits, gives up every
 *            capability, loads the seccomp filter, starts the program, forwards SIGTERM, reaps, reports.
 *            Told to `park`, it does all of this ahead of the run, and starts the program or lets it go on when the
 *            run is known: see await_run.
 *   contain  `init` for a container that somebody else isolated: the frame comes on stdin, the report goes to stderr
 *            at the very end, behind a nonce that only the runtime and PID 1 know.
 *   probe    inside, as the program: tells what holds.
 *   seksh    inside, called by that name: asks the run's broker for a secret, or for a request to a host.
 *
 * All talk over file descriptor 3, a unix stream socket that the runtime holds: frames in, text lines out. A frame is
 * a u32 length and tokens; a token is a u32 length, its bytes and a NUL. Nothing comes from argv or the environment,
 * because both are visible: to the host's ps outside, in /proc/1 inside. When the runtime dies, 3 reads end-of-file
 * and everything here ends.
 *
 * Why `init` holds CAP_SYS_ADMIN for a moment: bubblewrap 0.8 cannot mount a noexec tmpfs, and a bind that it leaves is
 * exec. The capability is one of the run's own user namespace only, is held before the first byte of the skill's code
 * is mapped, and is gone from every set, the bounding set too, before fork. The tests read that in the child.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <grp.h>

/* glibc's <sys/mount.h> and <linux/mount.h> exclude each other in Debian 12; this is all that is used of the former. */
int mount(const char *, const char *, const char *, unsigned long, const void *);
int umount2(const char *, int);
#define UMOUNT_NOFOLLOW 8
#define MNT_DETACH 2

#define CONTROL 3
#define STATUS 4
#define FIRST 4
#define ARGUMENTS 5
#define MAX_FRAME (16u << 20)
#define MAX_WORDS 4096
#define MAX_GROUPS 8 /* hierarchies of cgroup v1 that a run is held in */
#define MASK "/.skillbox/mask"
#define STAGE "/tmp"

static int contained = 0, launching = 0;
static char nonce[80], report[4096];

static void write_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t n = write(fd, bytes, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    bytes += n;
    length -= (size_t)n;
  }
}

/* Whole lines, to the runtime at once; inside somebody else's container they are kept for the end. */
static void tell(const char *lines) {
  if (!contained) write_all(CONTROL, lines, strlen(lines));
  else if (strlen(report) + strlen(lines) < sizeof report) strcat(report, lines);
}

static void say(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (length > (int)sizeof line - 2) length = sizeof line - 2;
  for (int i = 0; i < length; i++)
    if (line[i] == '\n') line[i] = ' ';
  line[length] = '\n';
  line[length + 1] = 0;
  tell(line);
}

/* In a container the only way out is stderr, which the program could write to as well, but not with the nonce. */
static void send_report(void) {
  if (!contained) return;
  write_all(CONTROL, "", 1);
  write_all(CONTROL, nonce, strlen(nonce));
  write_all(CONTROL, "\n", 1);
  write_all(CONTROL, report, strlen(report));
}

static void fail(const char *what, const char *which) {
  char rest[512];
  say("error %s %s: %s", what, which, strerror(errno));
  send_report();
  /* Whoever ends with something unread, or before something that is still written, makes the runtime's end break, and what was
     said go with it. So the runtime hangs up first. */
  if (launching && !shutdown(CONTROL, SHUT_WR))
    while (read(CONTROL, rest, sizeof rest) > 0) continue;
  _exit(125);
}

/* ---- frames ---- */

struct frame {
  uint32_t length, at;
  char *bytes;
};

static void read_all(void *to, size_t length) {
  char *next = to;
  while (length > 0) {
    ssize_t n = read(contained ? 0 : CONTROL, next, length);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(125); /* the runtime is gone */
    next += n;
    length -= (size_t)n;
  }
}

static struct frame read_frame(void) {
  struct frame frame = {0, 0, NULL};
  read_all(&frame.length, 4);
  if (frame.length > MAX_FRAME) errno = EMSGSIZE, fail("read", "frame");
  frame.bytes = malloc(frame.length + 1);
  if (!frame.bytes) fail("read", "frame");
  read_all(frame.bytes, frame.length);
  return frame;
}

/* The next token, NUL-terminated, or NULL at the end of the frame. */
static char *next_token(struct frame *frame, uint32_t *length) {
  uint32_t size;
  if (frame->at == frame->length) return NULL;
  if (frame->length - frame->at < 5) errno = EBADMSG, fail("read", "token");
  memcpy(&size, frame->bytes + frame->at, 4);
  if (size > frame->length - frame->at - 5 || frame->bytes[frame->at + 4 + size] != 0) errno = EBADMSG, fail("read", "token");
  char *token = frame->bytes + frame->at + 4;
  frame->at += size + 5;
  if (length) *length = size;
  return token;
}

static char *need_token(struct frame *frame) {
  char *token = next_token(frame, NULL);
  if (!token) errno = EBADMSG, fail("read", "argument");
  return token;
}

static unsigned long long need_number(struct frame *frame) {
  char *text = need_token(frame), *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno || end == text || *end) errno = EBADMSG, fail("read", "number");
  return value;
}

/* ---- shared ---- */

static void write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail("open", path);
  if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) fail("write", path);
  close(fd);
}

/* No component may be a symbolic link: a skill that swaps one in must not choose what is mounted, or where. */
static int open_plain(const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static const char *fd_path(int fd) {
  static char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return path;
}

static void die_with_parent(void) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL)) fail("prctl", "pdeathsig");
}

static void plain_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  for (int number = 1; number < 65; number++) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- launch ---- */

/* Who only is there so that its namespace is. It shares our memory, so that nothing is copied for it, and touches none of it. */
static int stay(void *parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != *(pid_t *)parent) return 1;
  for (;;) pause();
}

/* A user namespace that maps one on-disk owner to the run's uid, for an id-mapped mount. */
static int owner_map(unsigned long long uid, unsigned long long gid, uid_t to_uid, gid_t to_gid) {
  static int last = -1;
  static unsigned long long last_uid, last_gid;
  static _Alignas(16) char stack[16384];
  char path[64], map[96];
  if (last >= 0 && last_uid == uid && last_gid == gid) return last;
  pid_t self = getpid();
  pid_t child = clone(stay, stack + sizeof stack, CLONE_NEWUSER | CLONE_VM | SIGCHLD, &self);
  if (child < 0) fail("clone", "owner map");
  snprintf(path, sizeof path, "/proc/%d/uid_map", child);
  snprintf(map, sizeof map, "%llu %u 1", uid, to_uid);
  write_file(path, map);
  snprintf(path, sizeof path, "/proc/%d/gid_map", child);
  snprintf(map, sizeof map, "%llu %u 1", gid, to_gid);
  write_file(path, map);
  snprintf(path, sizeof path, "/proc/%d/ns/user", child);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open", path);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  last_uid = uid, last_gid = gid;
  return last = fd;
}

/* Something of the run's root, by its place in there: a tree that is held already, a text, a link, or an empty directory. */
struct staged {
  enum { TREE, TEXT, LINK, DIRECTORY } kind;
  char *at;
  int tree, is_directory;
  const char *text;
  uint32_t length;
};

/* The tree of mounts at `fd`, cut loose, with what is never to be done in it. */
static int clone_tree(int fd, struct mount_attr *attributes, const char *source) {
  int tree = (int)syscall(SYS_open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
  if (tree < 0) fail("clone", source);
  if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, attributes, sizeof *attributes))
    fail(attributes->attr_set & MOUNT_ATTR_IDMAP ? "id-map" : "restrict", source);
  return tree;
}

static struct staged take_tree(const char *source, const char *owner, const char *access, uid_t uid, gid_t gid) {
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID};
  struct stat stat;
  int is_device = !strcmp(access, "device");
  /* In the host's own /dev a link is the host's: /dev/random is one to urandom in some. */
  int fd = is_device ? open(source, O_PATH | O_CLOEXEC) : open_plain(source);
  if (fd < 0 || fstat(fd, &stat)) fail("open", source);
  if (is_device && !S_ISCHR(stat.st_mode)) errno = ENODEV, fail("open", source);
  if (!is_device) attributes.attr_set |= MOUNT_ATTR_NODEV;
  if (!strcmp(access, "ro")) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  else if (!is_device && strcmp(access, "rw")) errno = EBADMSG, fail("launch", access);
  if (strcmp(owner, "map") && strcmp(owner, "keep")) errno = EBADMSG, fail("launch", owner);
  if (!strcmp(owner, "map") && stat.st_uid != uid) {
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = (uint64_t)owner_map(stat.st_uid, stat.st_gid, uid, gid);
  }
  int tree = clone_tree(fd, &attributes, source);
  close(fd);
  return (struct staged){.kind = TREE, .tree = tree, .is_directory = S_ISDIR(stat.st_mode)};
}

/* Where the run's root is built, and whose it is to be. */
struct stage {
  int fd;
  dev_t device;
  uid_t uid;
  gid_t gid;
};

/* From here on files are made as root in the stage, and as the run in a tree of somebody else: what it may not make there is not
   made. True: in the stage. */
static int act_in(const struct stage *stage, int directory) {
  static int as_root = 1;
  struct stat stat;
  if (fstat(directory, &stat)) fail("stat", STAGE);
  int ours = stat.st_dev == stage->device;
  if (ours == as_root) return ours;
  uid_t uid = ours ? getuid() : stage->uid;
  setfsgid(ours ? getgid() : stage->gid), setfsuid(uid);
  if ((uid_t)setfsuid((uid_t)-1) != uid) errno = EPERM, fail("act", "as the run");
  as_root = ours;
  return ours;
}

static int make_directory(const struct stage *stage, int in, const char *name, mode_t mode) {
  int ours = act_in(stage, in);
  if (mkdirat(in, name, 0700)) return -1;
  return ours && (fchmodat(in, name, mode, 0) || fchownat(in, name, stage->uid, stage->gid, AT_SYMLINK_NOFOLLOW)) ? -1 : 0;
}

/* The directory that `at` lies in, and its name there. What is missing of the way is made. No name of it is followed anywhere: as
   root in the host's own file system, that is the difference between a sandbox and a hole. */
static int way_to(const struct stage *stage, char *at, char **name) {
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
  char *last = strrchr(at, '/'), *own;
  *name = last ? last + 1 : at;
  if (!strcmp(*name, ".") || !strcmp(*name, "..")) errno = EINVAL, fail("make", *name);
  if (!last) return stage->fd;
  *last = 0;
  int fd = (int)syscall(SYS_openat2, stage->fd, at, &how, sizeof how);
  if (fd >= 0) return fd;
  if (errno != ENOENT) fail("make", at);
  int above = way_to(stage, at, &own);
  if (make_directory(stage, above, own, 0700)) fail("make", own);
  fd = (int)syscall(SYS_openat2, above, own, &how, sizeof how);
  if (fd < 0) fail("make", own);
  if (above != stage->fd) close(above);
  return fd;
}

/* The mount point may be there already. A link in its place is not followed, and nothing can be mounted on it. */
static void attach(const struct stage *stage, int in, const char *name, int tree, int is_directory) {
  int failed = is_directory ? make_directory(stage, in, name, 0700) : (act_in(stage, in), mknodat(in, name, S_IFREG | 0400, 0));
  if (failed && errno != EEXIST) fail("make", name);
  act_in(stage, stage->fd);
  if (syscall(SYS_move_mount, tree, "", in, name, MOVE_MOUNT_F_EMPTY_PATH)) fail("move", name);
  close(tree);
}

static int write_text(const struct stage *stage, int in, const char *name, const struct staged *staged) {
  int fd = openat(in, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
  if (fd < 0 || fchown(fd, stage->uid, stage->gid)) fail("make", name);
  errno = ENOSPC; /* where only a part was written, nobody says why */
  if (write(fd, staged->text, staged->length) != (ssize_t)staged->length) fail("write", name);
  return fd;
}

static void put(const struct stage *stage, const struct staged *staged) {
  char *name;
  int in = way_to(stage, staged->at, &name), ours = act_in(stage, in);
  switch (staged->kind) {
  case TREE:
    attach(stage, in, name, staged->tree, staged->is_directory);
    break;
  case TEXT:
    if (ours) close(write_text(stage, in, name, staged));
    else { /* made beside the run's root, and mounted: it is not the tree's */
      static int number;
      char beside[32];
      struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
      snprintf(beside, sizeof beside, "text-%d", number++);
      act_in(stage, stage->fd);
      int text = write_text(stage, stage->fd, beside, staged);
      attach(stage, in, name, clone_tree(text, &attributes, name), 0);
      close(text);
    }
    break;
  case LINK:
    if (symlinkat(staged->text, in, name)) fail("link", name);
    if (ours && fchownat(in, name, stage->uid, stage->gid, AT_SYMLINK_NOFOLLOW)) fail("link", name);
    break;
  case DIRECTORY:
    if (make_directory(stage, in, name, 0755) && errno != EEXIST) fail("make", name);
    break;
  }
  act_in(stage, stage->fd);
  if (in != stage->fd) close(in);
}

/* The whole root of the run but /proc, so that bwrap has one tree to bind: for each it would read the list of all mounts. Covers
   /tmp of this namespace only; the trees are held by descriptors already. */
static void stage_root(const struct staged *staged, int count, uid_t uid, gid_t gid) {
  struct stat stat;
  if (mount("skillbox", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "size=2m,mode=0711")) fail("mount", STAGE);
  int fd = open(STAGE, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &stat)) fail("open", STAGE);
  struct stage stage = {fd, stat.st_dev, uid, gid};
  for (int i = 0; i < count; i++) put(&stage, &staged[i]);
  close(fd);
}

static int launch(pid_t keeper) {
  static struct staged staged[MAX_WORDS];
  uid_t uid = getuid();
  gid_t gid = getgid();
  int count = 0, arguments = -1, change = 0, groups = 0, pipes[2], staging = 0;
  char *program = NULL, *group[MAX_GROUPS], *word;

  launching = 1;
  die_with_parent();
  if (getppid() != keeper) _exit(125); /* it died before it could be asked to take us with it */
  plain_signals();
  if (syscall(SYS_close_range, CONTROL + 1, ~0u, 0)) fail("close_range", "launch");
  if (chdir("/")) fail("chdir", "/");

  struct frame frame = read_frame();
  while ((word = next_token(&frame, NULL))) {
    if (!strcmp(word, "ids")) uid = (uid_t)need_number(&frame), gid = (gid_t)need_number(&frame), change = 1;
    else if (!strcmp(word, "join") && groups < MAX_GROUPS) group[groups++] = need_token(&frame);
    else errno = EBADMSG, fail("launch", word);
  }
  if (change && uid == 0) errno = EINVAL, fail("launch", "uid 0");

  /* Pipes, not the socketpairs Node would give: `echo x > /dev/stderr` must work. Owned by the run, so that it may
     reopen them through /proc; the runtime opens its ends through this process's /proc/PID/fd. */
  setfsgid(gid), setfsuid(uid);
  for (int i = 0; i < 3; i++) {
    if (pipe2(pipes, O_CLOEXEC)) fail("pipe", "stdio");
    if (dup3(pipes[0], 20 + 2 * i, O_CLOEXEC) < 0 || dup3(pipes[1], 21 + 2 * i, O_CLOEXEC) < 0) fail("dup", "stdio");
    close(pipes[0]), close(pipes[1]);
  }
  setfsuid(getuid()), setfsgid(getgid());
  say("ready %d", (int)getpid());

  /* Before bwrap exists: no process of the run is ever outside, and no handshake is needed. The kernel takes its time for it; so it
     comes after the pipes, and whoever knows the run already need not wait for it to tell us. */
  for (int i = 0; i < groups; i++) write_file(group[i], "0");
  say("joined");

  free(frame.bytes);
  frame = read_frame();
  if (dup2(20, 0) < 0 || dup2(23, 1) < 0 || dup2(25, 2) < 0) fail("dup", "stdio");
  if (syscall(SYS_close_range, 20, 25, 0)) fail("close_range", "stdio");

  while ((word = next_token(&frame, NULL))) {
    if (!strcmp(word, "out")) {
      char *at = need_token(&frame), options[160];
      unsigned long long bytes = need_number(&frame), inodes = need_number(&frame);
      snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=0700,uid=%u,gid=%u", bytes, inodes, uid, gid);
      if (mount("skillbox", at, "tmpfs", MS_NOEXEC | MS_NOSUID | MS_NODEV, options)) fail("mount", at);
    } else if (!strcmp(word, "slots")) {
      char *at = need_token(&frame), options[80];
      snprintf(options, sizeof options, "size=%llu,mode=0700", need_number(&frame));
      if (mount("skillbox", at, "tmpfs", MS_NOSUID | MS_NODEV, options)) fail("mount", at);
    } else if (!strcmp(word, "directory")) {
      char *at = need_token(&frame);
      if (mkdir(at, 0700) || chown(at, uid, gid)) fail("make", at);
    } else if (!strcmp(word, "stage")) {
      staging = 1;
      if (unshare(CLONE_NEWNS)) fail("unshare", "mounts");
      if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) fail("mount", "private");
      /* bwrap reads the whole list of mounts for every bind: the dozen of cgroups in there would be half of it. */
      umount2("/sys", UMOUNT_NOFOLLOW | MNT_DETACH);
    } else if (staging && count == MAX_WORDS) {
      errno = E2BIG, fail("launch", "root");
    } else if (staging && !strcmp(word, "tree")) {
      char *source = need_token(&frame), *owner = need_token(&frame), *access = need_token(&frame);
      staged[count] = take_tree(source, owner, access, uid, gid);
      staged[count++].at = need_token(&frame);
    } else if (staging && !strcmp(word, "text")) {
      staged[count].kind = TEXT;
      staged[count].text = next_token(&frame, &staged[count].length);
      staged[count++].at = need_token(&frame);
    } else if (staging && !strcmp(word, "link")) {
      staged[count].kind = LINK;
      staged[count].text = need_token(&frame);
      staged[count++].at = need_token(&frame);
    } else if (staging && !strcmp(word, "empty")) {
      staged[count].kind = DIRECTORY;
      staged[count++].at = need_token(&frame);
    } else if (!strcmp(word, "exec")) {
      program = need_token(&frame);
    } else if (!strcmp(word, "arguments")) {
      uint32_t length = 0;
      char *bytes = next_token(&frame, &length);
      arguments = memfd_create("arguments", 0);
      if (!bytes || arguments < 0 || write(arguments, bytes, length) != (ssize_t)length) fail("write", "arguments");
      if (lseek(arguments, 0, SEEK_SET)) fail("seek", "arguments");
    } else errno = EBADMSG, fail("launch", word);
  }
  if (!program || arguments < 0) errno = EBADMSG, fail("launch", "exec");

  if (staging) stage_root(staged, count, uid, gid);
  if (change) {
    if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)) fail("become", "the run's uid");
    if (setuid(0) == 0) errno = EPERM, fail("become", "the run's uid for good");
  }
  die_with_parent(); /* a change of uid clears it */
  if (dup2(arguments, ARGUMENTS) < 0) fail("dup", "arguments");
  if (syscall(SYS_close_range, ARGUMENTS + 1, ~0u, 0)) fail("close_range", "exec");
  /* bwrap tells the runtime PID 1's number outside: killing that one ends the namespace, and bwrap returns only then. */
  if (dup2(CONTROL, STATUS) < 0) fail("dup", "status");
  char *command[] = {"bwrap", "--json-status-fd", "4", "--args", "5", "--", "/.skillbox/helper", "init", NULL};
  char *environment[] = {NULL};
  execve(program, command, environment);
  fail("start", program);
  return 125;
}

/* ---- keep ---- */

static void start_launcher(int run, pid_t self) {
  pid_t child = fork();
  if (child == 0) {
    if (dup2(run, CONTROL) < 0 || syscall(SYS_close_range, CONTROL + 1, ~0u, 0)) _exit(125);
    _exit(launch(self));
  }
  if (child < 0) dprintf(run, "error fork launcher: %s\n", strerror(errno));
  close(run);
}

/* Lives in a directory of its own that only the runtime's user may enter, with the socket `launch` in it. `first`: the channel of
   a launcher came with us, so that the one that everybody waits for is on its way before there is a socket. */
__attribute__((noreturn)) static void keep(int first) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "launch"};
  pid_t self = getpid();

  die_with_parent();
  plain_signals();
  umask(077);
  signal(SIGCHLD, SIG_IGN); /* nobody waits for a launcher: its connection tells when it is gone */
  if (first) start_launcher(FIRST, self);
  /* What Node itself inherited without CLOEXEC must not reach a skill. */
  if (syscall(SYS_close_range, CONTROL + 1, ~0u, 0)) fail("close_range", "keep");
  struct frame frame = read_frame();
  const char *home = need_token(&frame);
  if (chdir(home)) fail("chdir", home);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) fail("listen", home);
  say("ready %d", (int)self);
  for (;;) {
    struct pollfd waits[] = {{CONTROL, POLLIN, 0}, {listener, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) fail("poll", "keep");
    if (waits[0].revents) {
      free(frame.bytes);
      frame = read_frame(); /* ends us when the runtime is gone, and that everything we started */
      const char *path = need_token(&frame);
      int failed = umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) && errno != EINVAL && errno != ENOENT;
      say("unmounted %s", failed ? strerror(errno) : "");
    }
    if (!(waits[1].revents & POLLIN)) continue;
    int run = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (run < 0 && errno != ECONNABORTED && errno != EINTR) fail("accept", "keep");
    if (run < 0) continue;
    start_launcher(run, self);
  }
}

/* ---- init ---- */

static unsigned long flags_of(int fd) {
  struct statvfs stat;
  unsigned long flags = 0;
  if (fstatvfs(fd, &stat)) fail("statvfs", "mount");
  /* What the outer namespace locked must be repeated, or the remount is refused. */
  if (stat.f_flag & ST_RDONLY) flags |= MS_RDONLY;
  if (stat.f_flag & ST_NOSUID) flags |= MS_NOSUID;
  if (stat.f_flag & ST_NODEV) flags |= MS_NODEV;
  if (stat.f_flag & ST_NOEXEC) flags |= MS_NOEXEC;
  if (stat.f_flag & ST_NOATIME) flags |= MS_NOATIME;
  if (stat.f_flag & ST_NODIRATIME) flags |= MS_NODIRATIME;
  if (stat.f_flag & ST_RELATIME) flags |= MS_RELATIME;
  return flags;
}

/* Adds mount flags to what is mounted at `path`; with `bind`, makes it a mount of its own first. */
static int restrict_path(const char *path, int bind, unsigned long add) {
  int fd = open_plain(path);
  if (fd < 0) return -1;
  if (bind) {
    char source[40];
    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    if (mount(source, source, NULL, MS_BIND | MS_REC, NULL)) fail("bind", path);
    close(fd);
    fd = open_plain(path); /* the old descriptor still names what lies beneath */
    if (fd < 0) fail("open", path);
  }
  if (add && mount(NULL, fd_path(fd), NULL, MS_REMOUNT | MS_BIND | flags_of(fd) | add, NULL)) fail("remount", path);
  close(fd);
  return 0;
}

static void mount_tmpfs(const char *at, unsigned long long bytes, const char *mode, unsigned long add) {
  char options[128];
  int fd = open_plain(at);
  if (fd < 0) fail("open", at);
  /* An inode costs kernel memory that `size` does not count: one per 4 KiB, as many as files could use. */
  snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu,mode=%s", bytes, bytes / 4096 + 16, mode);
  if (mount("tmpfs", fd_path(fd), "tmpfs", MS_NOEXEC | MS_NOSUID | MS_NODEV | add, options)) fail("mount", at);
  close(fd);
}

/*
 * For mounts that somebody else made by name. Identity alone is not enough: a link that stood in the way for a moment only
 * would have led the mount elsewhere, and what was to be covered by it lies open at its own place.
 */
static void must_be_mounted(const char *at, unsigned long long device, unsigned long long inode, unsigned long long read_only) {
  struct stat stat;
  struct statx more;
  struct statvfs flags;
  int fd = open_plain(at);
  if (fd < 0 || fstat(fd, &stat) || fstatvfs(fd, &flags)) fail("open", at);
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more)) fail("stat", at);
  int is_mount = (more.stx_attributes_mask & more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  if (stat.st_dev != device || stat.st_ino != inode || !is_mount) errno = ESTALE, fail("mount", at);
  if (read_only && !(flags.f_flag & ST_RDONLY)) errno = ESTALE, fail("protect", at);
  close(fd);
}

static void prepare_masks(void) {
  mount_tmpfs(MASK, 4096, "0755", 0);
  int fd = open(MASK "/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0);
  if (fd < 0 || mkdir(MASK "/directory", 0)) fail("make", "mask");
  close(fd);
  if (restrict_path(MASK, 0, MS_RDONLY)) fail("remount", MASK);
}

static int hide_path(const char *path) {
  struct stat stat;
  int fd = open_plain(path);
  if (fd < 0) return -1;
  if (fstat(fd, &stat)) fail("stat", path);
  const char *mask = S_ISDIR(stat.st_mode) ? MASK "/directory" : MASK "/file";
  if (mount(mask, fd_path(fd), NULL, MS_BIND, NULL)) fail("hide", path);
  close(fd);
  return 0;
}

static void guard_proc(void) {
  static const char *const read_only[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"};
  static const char *const hidden[] = {"/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/timer_list", "/proc/cmdline",
                                       "/proc/sched_debug", "/proc/acpi", "/proc/scsi", "/proc/kmsg", "/proc/kallsyms"};
  /* This namespace's own count: even a kernel without our filter would refuse a nested user namespace. */
  write_file("/proc/sys/user/max_user_namespaces", "0");
  for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++)
    if (restrict_path(read_only[i], 1, MS_RDONLY) && errno != ENOENT) fail("guard", read_only[i]);
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    if (hide_path(hidden[i]) && errno != ENOENT) fail("guard", hidden[i]);
}

static void drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  for (int capability = 0; capability < 64; capability++)
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) && errno != EINVAL) fail("drop", "bounding set");
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)) fail("drop", "ambient set");
  if (syscall(SYS_capset, &header, none)) fail("drop", "capabilities");
}

static void load_filter(const char *bytes, uint32_t length) {
  struct sock_fprog program = {(unsigned short)(length / 8), (struct sock_filter *)(void *)bytes};
  if (length == 0 || length % 8) errno = EBADMSG, fail("load", "filter");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("prctl", "no_new_privs");
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) fail("load", "filter");
}

static void use_processors(unsigned long long wanted) {
  cpu_set_t have, use;
  CPU_ZERO(&use);
  if (sched_getaffinity(0, sizeof have, &have)) fail("affinity", "get");
  /* Spread runs: start somewhere, not always at the first processor. */
  int start = (int)(time(NULL) % CPU_SETSIZE);
  for (int i = 0; i < CPU_SETSIZE && (unsigned long long)CPU_COUNT(&use) < wanted; i++)
    if (CPU_ISSET((start + i) % CPU_SETSIZE, &have)) CPU_SET((start + i) % CPU_SETSIZE, &use);
  if (sched_setaffinity(0, sizeof use, &use)) fail("affinity", "set");
}

static long long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

struct watch {
  unsigned long long memory, pids;
  char *mounts[64];
  int mount_count, every_ms;
};

/* Where no cgroup counts, this does: private memory of all processes and what their tmpfs hold, and all their threads. */
static const char *over_limit(struct watch *watch) {
  unsigned long long pages = 0, threads = 0, page = (unsigned long long)sysconf(_SC_PAGESIZE);
  DIR *proc = opendir("/proc");
  if (!proc) return NULL;
  for (struct dirent *entry; (entry = readdir(proc));) {
    char path[300], line[1024];
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !strcmp(entry->d_name, "1")) continue;
    snprintf(path, sizeof path, "/proc/%s/statm", entry->d_name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ssize_t length = read(fd, line, sizeof line - 1);
    close(fd);
    unsigned long long resident = 0, shared = 0;
    line[length > 0 ? length : 0] = 0;
    if (sscanf(line, "%*u %llu %llu", &resident, &shared) == 2 && resident > shared) pages += resident - shared;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    length = read(fd, line, sizeof line - 1);
    close(fd);
    line[length > 0 ? length : 0] = 0;
    char *name_end = strrchr(line, ')');
    unsigned long long count = 0; /* a zombie counts for RLIMIT_NPROC too, until it is reaped */
    if (name_end && sscanf(name_end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %llu", &count) == 1)
      threads += count ? count : 1;
  }
  closedir(proc);
  unsigned long long bytes = pages * page;
  for (int i = 0; i < watch->mount_count; i++) {
    struct statvfs stat;
    if (!statvfs(watch->mounts[i], &stat)) bytes += (stat.f_blocks - stat.f_bfree) * stat.f_frsize;
  }
  /* Look more often where it may soon be too much. */
  watch->every_ms = (watch->memory && bytes > watch->memory / 2) || (watch->pids && threads > watch->pids / 2) ? 8 : 40;
  if (watch->memory && bytes > watch->memory) return "memory";
  /* RLIMIT_NPROC is one above the limit, so that this can be seen. */
  if (watch->pids && threads > watch->pids) return "pids";
  return NULL;
}

/*
 * In a container PID 1 counts towards the run's memory too, and files in a tmpfs stay when the program that wrote them was killed for
 * them: the next to ask for a page would be PID 1, for a look at /proc or for the report itself, and nobody would be left to tell of
 * it. So it holds what it needs from the start: the kernel's counters of this container, open and read once, and some pages, which
 * it lets go of when everything else is dead.
 */
enum { RESERVE_BYTES = 1 << 20 };
struct held {
  int tasks, kills;
  void *pages;
};

static int open_counter(const char *const *paths) {
  for (; *paths; paths++) {
    int fd = open(*paths, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) return fd;
  }
  return -1;
}

/* The number behind this word at the start of a line; -1 when there is none. */
static long long counted(int fd, const char *word) {
  char text[512] = "\n";
  ssize_t length = fd < 0 ? -1 : pread(fd, text + 1, sizeof text - 2, 0);
  text[length > 0 ? length + 1 : 0] = 0;
  char *at = strstr(text, word);
  return at ? atoll(at + strlen(word)) : -1;
}

/* Threads and processes in this container, PID 1 among them. */
static long long tasks_of(const struct held *held) { return counted(held->tasks, "\n"); }

static const char *too_many_tasks(const struct held *held, struct watch *watch) {
  unsigned long long threads = (unsigned long long)tasks_of(held) - 1;
  watch->every_ms = threads > watch->pids / 2 ? 8 : 40;
  return threads > watch->pids ? "pids" : NULL;
}

/* An engine may tell of PID 1's death only, or of none. */
static int killed_for_memory(const struct held *held) { return counted(held->kills, "\noom_kill ") > 0; }

static struct held hold(long long processes) {
  static const char *const tasks[] = {"/sys/fs/cgroup/pids.current", "/sys/fs/cgroup/pids/pids.current", NULL};
  static const char *const kills[] = {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", NULL};
  struct held held = {open_counter(tasks), open_counter(kills), NULL};
  if (tasks_of(&held) != processes) { /* not this container's: /proc is looked at instead */
    close(held.tasks);
    held.tasks = -1;
  }
  killed_for_memory(&held);
  held.pages = mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (held.pages == MAP_FAILED) fail("hold", "memory");
  return held;
}

/* A bind that must lie inside a tmpfs of ours: it was held aside, because the tmpfs would have covered it. There it is shut
   afterwards: what is hidden, read-only or noexec at its place would lie open. */
static void place(const char *held, const char *at, const char *under) {
  struct stat stat;
  char path[4096];
  if (strlen(at) >= sizeof path || lstat(held, &stat)) fail("place", at);
  strcpy(path, at);
  for (char *slash = path + strlen(under) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    if (mkdir(path, 0755) && errno != EEXIST) fail("make", path);
    *slash = '/';
  }
  if ((S_ISDIR(stat.st_mode) ? mkdir(path, 0755) : mknod(path, S_IFREG | 0644, 0)) && errno != EEXIST) fail("make", path);
  if (mount(held, path, NULL, MS_BIND | MS_REC, NULL) || hide_path(held)) fail("place", at);
}

/* The signal by which an interpreter in our bootstrap ends itself when all went well and nothing is left to be done but to
   take itself apart, which takes longer than most scripts. It counts only where the runtime said `done`. */
#define DONE 64

/*
 * A sandbox made ahead of its run (the warm pool). The program's end of a socket is its descriptor 3: it writes one byte
 * when it is up, and reads the end when its run is there, which lies in a file in memory, its descriptor 4: cwd, the number
 * of arguments, the arguments, and the environment, each ended by a NUL. (A shell reads what is no file byte by byte.) An
 * interpreter does that in a bootstrap of ours; where argv is empty, the process does it here and only then becomes the
 * program, so that nothing but the time differs from a start without a pool. Either way PID 1 has locked down before: no
 * mount and no capability is left to be dealt with when the run comes.
 */
#define RUN_FILE (CONTROL + 1)

static int make_run_file(void) {
  unsigned int not_executable = 8u; /* MFD_NOEXEC_SEAL, from Linux 6.3 on; before, nobody asks for it */
  int fd = (int)syscall(SYS_memfd_create, "run", MFD_CLOEXEC | not_executable);
  if (fd < 0 && errno == EINVAL) fd = (int)syscall(SYS_memfd_create, "run", MFD_CLOEXEC);
  if (fd < 0) fail("make", "the file of the run");
  return fd;
}

/* By its place: the program reads from where the file's one position is, and that is the beginning. */
static void write_run(int fd, const struct frame *run) {
  for (size_t at = 0; at < run->length;) {
    ssize_t n = pwrite(fd, run->bytes + at, run->length - at, (off_t)at);
    if (n < 0 && errno != EINTR) fail("write", "the run");
    if (n > 0) at += (size_t)n;
  }
}

static void await_run(char **argv, char **env, char **cwd) {
  struct stat stat;
  char byte, *bytes;
  ssize_t n;
  if (write(CONTROL, "R", 1) != 1) _exit(125);
  while ((n = read(CONTROL, &byte, 1)) != 0)
    if (n > 0 || errno != EINTR) _exit(125);
  if (fstat(RUN_FILE, &stat) || stat.st_size == 0 || !(bytes = malloc((size_t)stat.st_size))) _exit(125);
  size_t length = 0, whole = (size_t)stat.st_size;
  for (; length < whole; length += (size_t)n) {
    n = read(RUN_FILE, bytes + length, whole - length);
    if (n < 0 && errno == EINTR) n = 0;
    else if (n <= 0) _exit(125);
  }
  close(CONTROL), close(RUN_FILE);
  if (bytes[length - 1] != 0) _exit(125);
  char *next = bytes, *end = bytes + length;
  *cwd = next, next += strlen(next) + 1;
  int argc = next < end ? atoi(next) : 0, count = 0;
  if (argc < 1 || argc > MAX_WORDS) _exit(125);
  for (next += strlen(next) + 1; next < end; next += strlen(next) + 1, count++) {
    if (count - argc >= MAX_WORDS) _exit(125);
    if (count < argc) argv[count] = next;
    else env[count - argc] = next;
  }
  if (count < argc) _exit(125);
}

/* ---- bridge ---- */

/* Between 127.0.0.1:PORT of the run's own network namespace and the mounted socket of the egress proxy, for programs that
   know HTTP proxies and not unix sockets. It decides nothing: whatever comes goes to the proxy, which does. The socket is
   looked for at each connection: in a sandbox made ahead there is none before the run, and nothing is reached. */

#define CONNECTIONS 128
#define DOOR (2 * CONNECTIONS)

struct flow {
  int from, to;
  size_t start, end;
  int finished;
  uint32_t watched; /* what is waited for on `from` */
  char bytes[32768];
};

static int bridge_listen(unsigned long long port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, CONNECTIONS)) fail("listen", "bridge");
  return fd;
}

static int bridge_connect(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || strlen(path) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, path);
  if (!connect(fd, (struct sockaddr *)&address, sizeof address)) return fd;
  close(fd);
  return -1;
}

/* False when the flow is broken: the connection then ends as a whole. */
static int bridge_move(struct flow *flow, int readable, int writable) {
  if (readable && flow->end == 0) {
    ssize_t n = read(flow->from, flow->bytes, sizeof flow->bytes);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return 0;
    if (n == 0) flow->finished = 1, shutdown(flow->to, SHUT_WR);
    if (n > 0) flow->start = 0, flow->end = (size_t)n, writable = 1;
  }
  if (writable && flow->end > 0) {
    ssize_t n = send(flow->to, flow->bytes + flow->start, flow->end - flow->start, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return 0;
    if (n > 0) flow->start += (size_t)n;
    if (flow->start == flow->end) flow->start = flow->end = 0;
  }
  return 1;
}

/* What nothing is wanted of is not in the set: its end would be told again and again. */
static void bridge_watch(int set, struct flow *flow, uint32_t wanted, uint32_t name) {
  if (wanted == flow->watched) return;
  struct epoll_event event = {.events = wanted, .data.u32 = name};
  if (epoll_ctl(set, !flow->watched ? EPOLL_CTL_ADD : wanted ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, flow->from, &event)) _exit(1);
  flow->watched = wanted;
}

/* Waits for what can be read, and where something lies, for who takes it. */
static void bridge_await(int set, struct flow pair[2], uint32_t place) {
  for (uint32_t side = 0; side < 2; side++) {
    struct flow *in = &pair[side], *out = &pair[1 - side];
    uint32_t wanted = (in->end == 0 && !in->finished ? EPOLLIN : 0) | (out->end > 0 ? EPOLLOUT : 0);
    bridge_watch(set, in, wanted, 2 * place + side);
  }
}

/* False when there is nobody, on this side or on the other. */
static int bridge_accept(int listener, const char *path, struct flow pair[2]) {
  int outer, inner = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (inner < 0) return 0;
  /* What comes in pieces goes on in pieces: the second would wait forty milliseconds for word of the first. */
  setsockopt(inner, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
  if ((outer = bridge_connect(path)) < 0) { close(inner); return 0; }
  for (int side = 0; side < 2; side++) {
    pair[side].from = side ? outer : inner, pair[side].to = side ? inner : outer;
    pair[side].start = pair[side].end = 0, pair[side].finished = 0, pair[side].watched = 0;
  }
  return 1;
}

static void bridge_serve(int listener, const char *path) {
  static struct flow flows[CONNECTIONS][2], door;
  uint32_t places[CONNECTIONS], used = 0; /* so many of them are taken, and the next is the one that was left last */
  for (uint32_t i = 0; i < CONNECTIONS; i++) places[i] = i;
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) _exit(1);
  door.from = listener;
  for (;;) {
    struct epoll_event events[64];
    bridge_watch(set, &door, used < CONNECTIONS ? EPOLLIN : 0, DOOR);
    int count = epoll_wait(set, events, sizeof events / sizeof *events, -1);
    if (count < 0 && errno != EINTR) _exit(1);
    for (int i = 0; i < count; i++) {
      uint32_t name = events[i].data.u32, told = events[i].events, place = name / 2;
      if (name == DOOR) {
        if (used == CONNECTIONS || !bridge_accept(listener, path, flows[places[used]])) continue;
        place = places[used++];
      } else {
        struct flow *in = &flows[place][name % 2], *out = &flows[place][1 - name % 2];
        /* What was told of one that ended meanwhile, or of the next in its place: at most somebody looks in vain. */
        if (!in->watched) continue;
        int whole = bridge_move(in, (told & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0, 0) &&
                    bridge_move(out, 0, (told & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0);
        if (!whole || (in->finished && out->finished)) {
          close(in->from), close(out->from);
          in->watched = out->watched = 0;
          places[--used] = place;
          continue;
        }
      }
      bridge_await(set, flows[place], place);
    }
  }
}

/* As execvpe of glibc, also where this is built with another: a bare name is looked for where programs are (not where the given
   PATH says: that one is the program's own), and what has no #! is the shell's. Returns why it did not start. */
static int start_program(char **argv, char **env) {
  static const char *const given[] = {"", NULL};
  static const char *const programs[] = {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/", NULL};
  static char *shell[MAX_WORDS + 2] = {"/bin/sh"}, path[8192];
  int why = ENOENT;
  for (const char *const *in = strchr(argv[0], '/') ? given : programs; *in; in++) {
    if (snprintf(path, sizeof path, "%s%s", *in, argv[0]) >= (int)sizeof path) return ENAMETOOLONG;
    execve(path, argv, env);
    if (errno == ENOENT || (errno == ENOTDIR && **in)) continue;
    why = errno;
    if (why == EACCES) continue;
    if (why != ENOEXEC) break;
    memcpy(shell + 2, argv + 1, MAX_WORDS * sizeof *argv);
    shell[1] = path;
    execve(shell[0], shell, env);
    break;
  }
  return why;
}

static int init(int in_container) {
  static char *argv[MAX_WORDS + 1], *env[MAX_WORDS + 1];
  int argc = 0, envc = 0, status = 0, ended = 0, park = 0, ends_itself = 0, parked[2] = {-1, -1}, run_file = -1;
  unsigned long long processors = 0, deadline = 0, linger = 0;
  struct watch watch = {0, 0, {NULL}, 0, 40};
  char *word, *cwd = "/", *filter = NULL, *bridge = NULL;
  int listener = -1;
  uint32_t filter_length = 0;

  contained = in_container;
  if (contained && dup2(2, CONTROL) < 0) _exit(125);
  if (getpid() != 1) errno = EPERM, fail("init", "not PID 1");
  if (!contained) die_with_parent(); /* a container's PID 1 loses its parent as soon as it runs */
  if (syscall(SYS_close_range, CONTROL + 1, ~0u, 0)) fail("close_range", "init");
  umask(022);
  struct frame frame = read_frame();
  if (!contained) {
    prepare_masks();
    guard_proc();
  }
  while ((word = next_token(&frame, NULL))) {
    if (!strcmp(word, "nonce")) snprintf(nonce, sizeof nonce, "%s", need_token(&frame));
    else if (!strcmp(word, "tmpfs")) {
      char *at = need_token(&frame);
      unsigned long long bytes = need_number(&frame);
      mount_tmpfs(at, bytes, need_token(&frame), 0);
      if (watch.mount_count < 64) watch.mounts[watch.mount_count++] = at;
    } else if (!strcmp(word, "place")) {
      char *held = need_token(&frame), *at = need_token(&frame);
      place(held, at, need_token(&frame));
    } else if (!strcmp(word, "same")) { /* bwrap followed a link that was put in the way of a mount's source */
      char *at = need_token(&frame);
      unsigned long long device = need_number(&frame), inode = need_number(&frame);
      struct stat stat;
      int fd = open_plain(at);
      if (fd < 0 || fstat(fd, &stat)) fail("open", at);
      if (stat.st_dev != device || stat.st_ino != inode) errno = ESTALE, fail("mount", at);
      close(fd);
    } else if (!strcmp(word, "mounted")) { /* a container engine followed names too: this is the very thing, and a mount of it */
      char *at = need_token(&frame);
      unsigned long long device = need_number(&frame), inode = need_number(&frame), read_only = need_number(&frame);
      must_be_mounted(at, device, inode, read_only);
    } else if (!strcmp(word, "noexec")) {
      char *at = need_token(&frame);
      if (restrict_path(at, 0, MS_NOEXEC)) fail("remount", at);
    } else if (!strcmp(word, "hold")) { /* a mount point cannot be renamed or removed */
      char *at = need_token(&frame);
      if (restrict_path(at, 1, 0) && errno != ENOENT) fail("hold", at);
    } else if (!strcmp(word, "ro")) {
      char *at = need_token(&frame);
      if (restrict_path(at, 1, MS_RDONLY) && errno != ENOENT) fail("protect", at);
    } else if (!strcmp(word, "hide")) {
      char *at = need_token(&frame);
      if (hide_path(at) && errno != ENOENT) fail("hide", at);
    } else if (!strcmp(word, "rlimit")) {
      int which = (int)need_number(&frame);
      rlim_t value = need_number(&frame);
      struct rlimit old;
      if (getrlimit((unsigned)which, &old)) fail("rlimit", "get");
      if (old.rlim_max < value) value = old.rlim_max; /* lower is as good, and raising needs a capability */
      struct rlimit limit = {value, value};
      if (setrlimit((unsigned)which, &limit)) fail("rlimit", "set");
    } else if (!strcmp(word, "processors")) processors = need_number(&frame);
    else if (!strcmp(word, "watch")) watch.memory = need_number(&frame), watch.pids = need_number(&frame);
    else if (!strcmp(word, "deadline")) deadline = need_number(&frame);
    else if (!strcmp(word, "park")) park = 1;
    else if (!strcmp(word, "done")) ends_itself = 1;
    else if (!strcmp(word, "linger")) linger = need_number(&frame);
    else if (!strcmp(word, "filter")) {
      filter = next_token(&frame, &filter_length);
      /* Tokens lie at any offset; the kernel copies, but C wants its structs aligned. */
      char *aligned = malloc(filter_length + 1);
      if (!filter || !aligned) errno = EBADMSG, fail("read", "filter");
      filter = memcpy(aligned, filter, filter_length);
    } else if (!strcmp(word, "bridge")) {
      bridge = need_token(&frame);
      listener = bridge_listen(need_number(&frame)); /* before the program starts: its first connection finds it */
    } else if (!strcmp(word, "cwd")) cwd = need_token(&frame);
    else if (!strcmp(word, "arg") && argc < MAX_WORDS) argv[argc++] = need_token(&frame);
    else if (!strcmp(word, "env") && envc < MAX_WORDS) env[envc++] = need_token(&frame);
    else errno = EBADMSG, fail("init", word);
  }
  if ((!argc && !park) || !filter) errno = EBADMSG, fail("init", "nothing to start");
  if (processors) use_processors(processors);

  int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (oom >= 0) { /* a host short of memory should take the run first; not a guarantee, so a failure is none */
    if (write(oom, "500", 3) != 3) errno = 0;
    close(oom);
  }
  if (!contained) drop_capabilities();
  /* The run has this uid too: without this it could write to /proc/1/mem and forge its own report. */
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) fail("prctl", "dumpable");

  sigset_t mask;
  sigfillset(&mask);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigaddset(&mask, SIGTERM);
  int children = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (children < 0) fail("signalfd", "init");
  if (park && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, parked)) fail("socketpair", "park");
  if (park) run_file = make_run_file();
  load_filter(filter, filter_length);

  if (bridge) {
    pid_t forwarder = fork();
    if (forwarder < 0) fail("fork", "bridge");
    if (forwarder == 0) { /* under the same filter, without a capability, signals blocked: it ends with PID 1's last sweep */
      syscall(SYS_close_range, 0, CONTROL, 0);
      close(children);
      /* Held here, the parked program would never read the end of its run. */
      if (park) close(parked[0]), close(parked[1]), close(run_file);
      bridge_serve(listener, bridge);
    }
    close(listener);
  }
  struct held held = {-1, -1, NULL};
  if (contained) held = hold(bridge ? 2 : 1);
  pid_t tool = fork();
  if (tool < 0) fail("fork", "program");
  if (tool == 0) {
    plain_signals();
    setsid();
    /* Both lie higher: signals have a descriptor before them. */
    if (park && (dup2(parked[1], CONTROL) < 0 || dup2(run_file, RUN_FILE) < 0)) _exit(125);
    syscall(SYS_close_range, park ? RUN_FILE + 1 : CONTROL, ~0u, 0);
    if (park && !argc) await_run(argv, env, &cwd);
    if (chdir(cwd)) {
      dprintf(2, "skillbox: cannot enter %s: %s\n", cwd, strerror(errno));
      _exit(126);
    }
    int why = start_program(argv, env);
    dprintf(2, "skillbox: cannot start %s: %s\n", argv[0], strerror(why));
    _exit(why == ENOENT ? 127 : 126);
  }
  if (park) close(parked[1]);
  else say("started");
  /* Only the program holds its streams: when its last process is gone, the runtime reads end-of-file. */
  syscall(SYS_close_range, 0, 2, 0);

  long long end_at = deadline && !park ? now_ms() + (long long)deadline : 0;
  while (!ended) {
    struct pollfd polls[3] = {{contained ? -1 : CONTROL, POLLIN, 0}, {children, POLLIN, 0}, {parked[0], POLLIN, 0}};
    /* Parked, there is nothing to watch: no code but ours runs. */
    int wait_ms = park ? -1 : watch.memory || watch.pids ? watch.every_ms : end_at ? 1000 : -1;
    int ready = poll(polls, 3, wait_ms);
    if (ready < 0 && errno != EINTR) break;
    /* The runtime keeps the time; this is for a runtime that is stopped or hangs. */
    if (end_at && now_ms() > end_at) break;
    if (!park && (watch.memory || watch.pids)) {
      const char *limit = held.tasks < 0 ? over_limit(&watch) : too_many_tasks(&held, &watch);
      if (limit) {
        say("limit %s", limit);
        kill(-1, SIGKILL);
      }
    }
    if (polls[0].revents) {
      char byte = 0;
      ssize_t n = read(CONTROL, &byte, 1);
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) break;
      if (byte == 'T') kill(-1, SIGTERM), kill(-1, SIGCONT);
      if (byte == 'K') kill(-1, SIGKILL);
      if (byte == 'G' && park) {
        struct frame run = read_frame();
        write_run(run_file, &run);
        close(run_file), close(parked[0]);
        parked[0] = -1, park = 0;
        end_at = deadline ? now_ms() + (long long)deadline : 0;
        say("started");
        continue;
      }
    }
    if (park && polls[2].revents) {
      char byte = 0;
      if (read(parked[0], &byte, 1) == 1) say("parked");
      else close(parked[0]), parked[0] = -1; /* it died: its end is told like any other */
    }
    struct signalfd_siginfo signal;
    while (read(children, &signal, sizeof signal) > 0)
      if (contained && signal.ssi_signo == SIGTERM) kill(-1, SIGTERM), kill(-1, SIGCONT);
    int state;
    for (pid_t pid; (pid = waitpid(-1, &state, WNOHANG)) > 0;)
      if (pid == tool) status = state, ended = 1;
  }
  for (;;) { /* whatever it left behind: double forks, sessions of their own, stopped ones */
    kill(-1, SIGKILL);
    int state;
    pid_t pid = waitpid(-1, &state, 0);
    if (pid == tool) status = state, ended = 1;
    if (pid < 0 && errno == ECHILD) break;
  }
  if (held.pages) munmap(held.pages, RESERVE_BYTES);
  struct rusage usage;
  char lines[128];
  getrusage(RUSAGE_CHILDREN, &usage);
  /* Both lines at once: whoever reads them is woken once. */
  int used = snprintf(lines, sizeof lines, "usage %lld %lld\n", (long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
      (long long)usage.ru_maxrss * 1024);
  char *end = lines + used;
  size_t room = sizeof lines - (size_t)used;
  int done = ends_itself && WIFSIGNALED(status) && WTERMSIG(status) == DONE;
  if (ended && WIFSIGNALED(status) && !done) snprintf(end, room, "signaled %d\n", WTERMSIG(status));
  else if (ended) snprintf(end, room, "exited %d\n", done ? 0 : WEXITSTATUS(status));
  if (killed_for_memory(&held)) say("limit memory");
  tell(lines);
  send_report();
  /* With the last process goes the sandbox, for which the kernel takes longer than for most programs, and which keeps every
     processor busy: a runtime that said `linger` reads what the run left and writes down its end first. It hangs up when it
     wants this gone. */
  struct pollfd last = {CONTROL, POLLIN, 0};
  if (linger) poll(&last, 1, (int)linger);
  else sched_yield(); /* whoever was woken by it goes first, not our own end */
  return 0;
}

/* ---- probe ---- */

/* Run inside as the program: what this host's sandbox really holds. Opens and asks; changes nothing. */
static int probe(void) {
  char line[256];
  struct statvfs stat;
  FILE *status = fopen("/proc/self/status", "re");
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "Seccomp:", 8)) fputs(line, stdout);
  printf("uid: %d\n", (int)getuid());
  printf("netlink: %d\n", syscall(SYS_socket, 16, 3, 0) < 0 ? errno : 0);
  printf("unshare: %d\n", unshare(CLONE_NEWUSER) ? errno : 0);
  printf("root: %d\n", open("/probe", O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0);
  printf("sysctl: %d\n", open("/proc/sys/kernel/hostname", O_WRONLY) < 0 ? errno : 0);
  printf("noexec: %d\n", !statvfs("/dev/shm", &stat) && (stat.f_flag & ST_NOEXEC) != 0);
  printf("pid1: %d\n", open("/proc/1/environ", O_RDONLY) < 0 ? errno : 0);
  int interfaces = 0, processes = 0;
  FILE *devices = fopen("/proc/self/net/dev", "re");
  while (devices && fgets(line, sizeof line, devices)) interfaces += strchr(line, ':') != NULL;
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; proc && (entry = readdir(proc));) processes += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
  printf("interfaces: %d\nprocesses: %d\n", interfaces, processes);
  return 0;
}

/* ---- seksh ---- */

/* SK-10. Talks HTTP to the broker over the bridge; knows its own token and nothing else. Everything is bounded. */

enum { OK, USAGE, NO_BROKER, DENIED, NOT_FOUND, UNREACHABLE };
#define MAX_HEAD 32768
#define MAX_BODY (16u << 20)

struct reader {
  int fd;
  size_t at, end;
  char bytes[16384];
};

static int seksh_fail(int code, const char *what) {
  fprintf(stderr, "seksh: %s\n", what);
  return code;
}

static int next_byte(struct reader *in) {
  if (in->at == in->end) {
    ssize_t n;
    while ((n = read(in->fd, in->bytes, sizeof in->bytes)) < 0 && errno == EINTR) {}
    if (n <= 0) return -1;
    in->at = 0, in->end = (size_t)n;
  }
  return (unsigned char)in->bytes[in->at++];
}

/* One line without its end; -1 where it is too long or breaks off. */
static int next_line(struct reader *in, char *line, size_t room) {
  size_t length = 0;
  for (;;) {
    int byte = next_byte(in);
    if (byte < 0 || length + 1 >= room) return -1;
    if (byte == '\n') break;
    line[length++] = (char)byte;
  }
  if (length > 0 && line[length - 1] == '\r') length--;
  line[length] = 0;
  return (int)length;
}

/* Copies `count` bytes, or all there are where `count` is negative. False where fewer came. */
static int copy_body(struct reader *in, long long count, int to) {
  while (count != 0) {
    if (in->at == in->end) {
      int byte = next_byte(in);
      if (byte < 0) return count < 0;
      in->at--;
    }
    size_t have = in->end - in->at;
    if (count > 0 && (long long)have > count) have = (size_t)count;
    write_all(to, in->bytes + in->at, have);
    in->at += have;
    if (count > 0) count -= (long long)have;
  }
  return 1;
}

static int copy_chunks(struct reader *in, int to) {
  char line[64];
  for (;;) {
    if (next_line(in, line, sizeof line) < 1) return 0;
    char *end;
    errno = 0;
    unsigned long long size = strtoull(line, &end, 16);
    if (errno || end == line || (*end && *end != ';') || size > (1ull << 40)) return 0;
    if (size == 0) return 1;
    if (!copy_body(in, (long long)size, to) || next_line(in, line, sizeof line) != 0) return 0;
  }
}

static int broker_connect(void) {
  static const char start[] = "http://127.0.0.1:";
  const char *url = getenv("SEKS_BROKER_URL");
  if (!url || strncmp(url, start, sizeof start - 1)) return -1;
  char *end;
  unsigned long port = strtoul(url + sizeof start - 1, &end, 10);
  if (*end || port < 1 || port > 65535) return -1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof address)) return fd;
  if (fd >= 0) close(fd);
  return -2;
}

static int send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    bytes += n, length -= (size_t)n;
  }
  return 1;
}

/* What comes before a body. */
struct answer {
  int status, chunked;
  long long length;
};

static int read_head(struct reader *in, struct answer *answer) {
  char line[MAX_HEAD];
  *answer = (struct answer){.length = -1};
  if (next_line(in, line, sizeof line) < 12 || sscanf(line, "HTTP/1.%*1d %3d", &answer->status) != 1)
    return seksh_fail(UNREACHABLE, "the broker does not answer");
  for (int n; (n = next_line(in, line, sizeof line)) != 0;) {
    if (n < 0) return seksh_fail(UNREACHABLE, "the broker broke off");
    if (!strncasecmp(line, "content-length:", 15)) answer->length = strtoll(line + 15, NULL, 10);
    if (!strncasecmp(line, "transfer-encoding:", 18) && strcasestr(line, "chunked")) answer->chunked = 1;
  }
  return OK;
}

/* The answer's body goes to stdout; of a refusal, what the broker says goes to stderr unless it is a host's answer. */
static int read_answer(int fd, const char *method, int always) {
  static struct reader in;
  struct answer answer;
  in.fd = fd;
  /* Who says `Expect: 100-continue` is answered twice. */
  do {
    int failed = read_head(&in, &answer);
    if (failed) return failed;
  } while (answer.status < 200);
  int status = answer.status, to = status < 400 || always ? 1 : 2;
  /* The length of a body that does not come: it would be waited for. */
  int bodiless = !strcasecmp(method, "HEAD") || status == 204 || status == 304;
  if (!bodiless && !(answer.chunked ? copy_chunks(&in, to) : copy_body(&in, answer.length, to)))
    return seksh_fail(UNREACHABLE, "the answer broke off");
  if (status < 400) return OK;
  if (always) fprintf(stderr, "seksh: the answer is %d\n", status);
  if (status == 404) return NOT_FOUND;
  return status == 401 || status == 403 || status == 407 || status == 429 ? DENIED : UNREACHABLE;
}

static int is_word(const char *text, const char *more) {
  if (!*text) return 0;
  for (; *text; text++)
    if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9') || strchr(more, *text))) return 0;
  return 1;
}

static int is_visible(const char *text, int space) {
  for (; *text; text++)
    if ((unsigned char)*text <= 0x20 ? !(space && (*text == ' ' || *text == '\t')) : *text == 0x7f) return 0;
  return 1;
}

/* `text`, the file behind `@`, or stdin for `@-`. */
static char *read_body(const char *text, size_t *length) {
  if (*text != '@') return *length = strlen(text), (char *)text;
  int fd = strcmp(text, "@-") ? open(text + 1, O_RDONLY | O_CLOEXEC) : 0;
  char *bytes = malloc(MAX_BODY + 1);
  if (fd < 0 || !bytes) return NULL;
  for (*length = 0; *length <= MAX_BODY;) {
    ssize_t n = read(fd, bytes + *length, MAX_BODY + 1 - *length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return NULL;
    if (n == 0) return bytes;
    *length += (size_t)n;
  }
  return NULL;
}

static int seksh(int argc, char **argv) {
  static const char usage[] = "usage: seksh get custom/KEY | list | http METHOD URL [-H 'Name: value']... [-d DATA | -d @FILE | -d @-]";
  static char head[MAX_HEAD];
  const char *what = argc > 1 ? argv[1] : "", *method = "GET", *url = "/v1/secrets/list", *accept = "Accept: text/plain\r\n";
  char path[300], more[MAX_HEAD] = "", *body = NULL;
  size_t length = 0, used = 0;
  int is_http = 0;

  if (!strcmp(what, "get") && argc == 3) {
    if (strncmp(argv[2], "custom/", 7)) return seksh_fail(DENIED, "only custom/KEY can be had; keys of providers stay with the broker");
    if (!is_word(argv[2] + 7, "._-") || strlen(argv[2]) > 200) return seksh_fail(USAGE, usage);
    snprintf(path, sizeof path, "/v1/secrets/%s", argv[2]);
    url = path;
  } else if (!strcmp(what, "http") && argc >= 4) {
    is_http = 1, method = argv[2], url = argv[3], accept = "";
    if (!is_word(method, "") || strlen(method) > 16 || !is_visible(url, 0) || strlen(url) > 16384) return seksh_fail(USAGE, usage);
    if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)) return seksh_fail(USAGE, "the URL must begin with http:// or https://");
    for (int i = 4; i < argc; i += 2) {
      if (i + 1 == argc) return seksh_fail(USAGE, usage);
      if (!strcmp(argv[i], "-d")) {
        if (!(body = read_body(argv[i + 1], &length))) return seksh_fail(USAGE, "the body cannot be read, or is over 16 MiB");
      } else if (!strcmp(argv[i], "-H") && strchr(argv[i + 1], ':') && is_visible(argv[i + 1], 1)) {
        int n = snprintf(more + used, sizeof more - used, "%s\r\n", argv[i + 1]);
        if (n < 0 || (size_t)n >= sizeof more - used) return seksh_fail(USAGE, "the headers are too long");
        used += (size_t)n;
      } else return seksh_fail(USAGE, usage);
    }
  } else if (strcmp(what, "list") || argc != 2) return seksh_fail(USAGE, usage);

  const char *token = getenv("SEKS_AGENT_TOKEN");
  if (!token || !is_word(token, "._~+/=-")) return seksh_fail(NO_BROKER, "this run has no broker");
  int fd = broker_connect();
  if (fd == -1) return seksh_fail(NO_BROKER, "this run has no broker");
  if (fd < 0) return seksh_fail(UNREACHABLE, "the broker cannot be reached");
  char size[48] = "";
  if (body) snprintf(size, sizeof size, "Content-Length: %zu\r\n", length);
  int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: broker\r\nProxy-Authorization: Bearer %s\r\nConnection: close\r\n%s%s%s\r\n", method, url, token,
                   accept, size, more);
  if (n < 0 || (size_t)n >= sizeof head) return seksh_fail(USAGE, "the request is too long");
  /* A refusal may come before all is sent: the answer is read either way. */
  if (send_all(fd, head, (size_t)n) && body) send_all(fd, body, length);
  return read_answer(fd, method, is_http);
}

int main(int argc, char **argv) {
  const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
  if (argc > 0 && !strcmp(name ? name + 1 : argv[0], "seksh")) return seksh(argc, argv);
  if (argc == 2 && !strcmp(argv[1], "keep")) keep(0);
  if (argc == 3 && !strcmp(argv[1], "keep") && !strcmp(argv[2], "first")) keep(1);
  if (argc == 2 && !strcmp(argv[1], "init")) return init(0);
  if (argc == 2 && !strcmp(argv[1], "contain")) return init(1);
  if (argc == 2 && !strcmp(argv[1], "probe")) return probe();
  if (argc == 2 && !strcmp(argv[1], "--version")) return puts("skillbox-helper 11") < 0;
  fputs("usage: skillbox-helper keep | init | contain | probe | --version\n", stderr);
  return 2;
}
