/*
 * skillbox-scan: looks at many folders at once, for discovery (src/catalog/look-ahead.ts).
 *
 * Its working directory is the directory that holds them. It says first what is in that, each name with its kind, in pieces,
 * and last the directory's state before it was listed. Then, for each folder in it, in the order of the bytes of their
 * names, what a scan would ask about: the folder's state, the names in it with their kinds, and the name and
 * description in its SKILL.md where that is plain (plain-head.h). It judges nothing else. What is odd in any way (a link,
 * another kind of file, too much of anything) is not answered, and the caller looks itself; so does it when this program is
 * missing or fails.
 *
 * An answer is NUMBERS doubles, then the folder's name, then the names in it (for each its kind, its length and itself), then
 * the skill's name, which is left out where it is the folder's, and its description, then zeros up to a multiple of eight
 * bytes, so that the caller can read the numbers where they lie. Answers come as they are found, in blocks: the first goes to
 * stdout, the second to descriptor 3, the third to stdout again, so that two processes can look without waiting for each other.
 * Both are files, which never fill up as a pipe does: nobody waits for the caller either.
 *
 * Links are never followed and nothing but plain files is read, without waiting. All sizes are bounded. It writes nothing
 * but its answers.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "plain-head.h"

enum { LISTED = 1, PLAIN = 2, BLOCK_END = 3, NAMES = 4, NAMES_END = 5 };
static const int OUTPUTS[] = { 1, 3 };
/* What each number is; FOLDER and SKILL start with the inode, FOLDER has its device before that. */
enum {
  KIND, REST_BYTES, REST_IS_ASCII, FOLDER_NAME_BYTES, NAMES_BYTES, NAME_BYTES, DESCRIPTION_BYTES,
  DEVICE, FOLDER, SKILL = FOLDER + 6, NUMBERS = SKILL + 6,
};
enum {
  FOLDERS = 100000,         /* and names of any kind, as the caller has it */
  LIST_BYTES = 32 << 20,    /* of those names */
  PIECE_BYTES = 64 << 10,   /* of them, said together */
  ENTRIES = 256,            /* in a folder */
  FILE_BYTES = 96 << 10,    /* of SKILL.md, as the caller has it */
  ANSWER_BYTES = 112 << 10, /* more than the names of that many entries and a head can take */
  OUTPUT_BYTES = 32 << 20,  /* of each file; twice what that many plain folders take */
  BLOCK = 256,              /* folders that are answered together */
};

/* As getdents64(2) gives them. */
struct entry {
  uint64_t ino;
  int64_t off;
  unsigned short length;
  unsigned char type;
  char name[];
};

struct output {
  char *at, *end;
};

static char file[FILE_BYTES + 1];
static char names[64 << 10] __attribute__((aligned(8)));

static int put(struct output *out, const void *bytes, size_t length) {
  if ((size_t)(out->end - out->at) < length) return -1;
  memcpy(out->at, bytes, length);
  out->at += length;
  return 0;
}

static int put_byte(struct output *out, unsigned char byte) { return put(out, &byte, 1); }

/* As Node computes it, to the last bit. */
static double to_ms(struct timespec time) { return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1e6; }

static void set_state(double *numbers, const struct stat *stats) {
  numbers[0] = (double)stats->st_ino;
  numbers[1] = (double)stats->st_size;
  numbers[2] = to_ms(stats->st_mtim);
  numbers[3] = to_ms(stats->st_ctim);
  numbers[4] = (double)stats->st_uid;
  numbers[5] = (double)stats->st_mode;
}

/* The C library asks by an empty name, at which the kernel then looks. */
static int ask_state(int fd, struct stat *stats) { return (int)syscall(SYS_fstat, fd, stats); }

static char kind_of(unsigned char type) {
  switch (type) {
    case DT_DIR: return 'd';
    case DT_LNK: return 'l';
    case DT_UNKNOWN: return 0;
    case DT_REG: return 'f';
    default: return 'o';
  }
}

/* The names in the folder; 1 when a plain file among them is called SKILL.md, 0 when none is, -1 to give up. */
static int put_names(struct output *out, int folder) {
  int entries = 0, marked = 0;
  /* After the last name ext4 and others already say that there is nothing more: it need not be asked for once again. */
  for (int64_t next = 0; next != INT64_MAX;) {
    long length = syscall(SYS_getdents64, folder, names, sizeof names);
    if (length < 0) return -1;
    if (length == 0) break;
    for (long at = 0; at < length;) {
      const struct entry *entry = (const struct entry *)(names + at);
      at += entry->length;
      next = entry->off;
      const char *name = entry->name;
      if (name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0))) continue;
      size_t size = strlen(name);
      char kind = kind_of(entry->type);
      if (kind == 0 || size > 255 || ++entries > ENTRIES) return -1;
      if (put_byte(out, (unsigned char)kind) != 0 || put_byte(out, (unsigned char)size) != 0) return -1;
      if (put(out, name, size) != 0) return -1;
      if (kind == 'f' && strcmp(name, "SKILL.md") == 0) marked = 1;
    }
  }
  return marked;
}

/* The whole of SKILL.md; how long it is, or -1: not this one. */
static long read_file(int folder, double *numbers) {
  int skill = openat(folder, "SKILL.md", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (skill == -1) return -1;
  struct stat stats;
  ssize_t length = -1;
  if (ask_state(skill, &stats) == 0 && S_ISREG(stats.st_mode) && stats.st_size < FILE_BYTES)
    length = read(skill, file, FILE_BYTES);
  close(skill);
  if (length < 0 || length != stats.st_size) return -1;
  set_state(numbers, &stats);
  file[length] = 0;
  return length;
}

/* Faster than memmem: most files have few of these, and a zero follows the last. */
static int has_tool_heading(const char *at, const char *end) {
  while ((at = memchr(at, '#', (size_t)(end - at))) != NULL) {
    size_t marks = strspn(at, "#");
    if (marks >= 4) return 1;
    at += marks;
  }
  return 0;
}

/* Name and description of a plain SKILL.md; -1 when it is not. */
static int put_head(struct output *out, int folder, const char *folder_name, double *numbers) {
  static char name[FILE_BYTES], description[FILE_BYTES];
  long length = read_file(folder, numbers + SKILL);
  if (length == -1) return -1;
  struct text text = { (const unsigned char *)file, length };
  struct plain_head head;
  if (read_plain_head(&text, &head) != 0) return -1;
  long size = text_of(&text, head.name, name);
  if (!is_kebab(name, size)) return -1;
  /* It may hold tools, for which the whole file has to be read. */
  if (has_tool_heading(file, file + length)) return -1;
  long rest = text_of(&text, head.description, description);
  if (rest == NOT_PLAIN) return -1;
  if (strlen(folder_name) == (size_t)size && memcmp(folder_name, name, (size_t)size) == 0) size = 0;
  numbers[NAME_BYTES] = (double)size;
  numbers[DESCRIPTION_BYTES] = (double)rest;
  return put(out, name, (size_t)size) != 0 || put(out, description, (size_t)rest) != 0 ? -1 : 0;
}

/* What follows the numbers, and the numbers themselves; -1 when the caller has to look. */
static int look_inside(struct output *out, int folder, const char *name, double *numbers) {
  struct stat stats;
  if (ask_state(folder, &stats) != 0) return -1;
  numbers[DEVICE] = (double)stats.st_dev;
  set_state(numbers + FOLDER, &stats);
  numbers[FOLDER_NAME_BYTES] = (double)strlen(name);
  if (put(out, name, strlen(name)) != 0) return -1;
  char *before = out->at;
  int marked = put_names(out, folder);
  if (marked == -1) return -1;
  numbers[KIND] = LISTED;
  numbers[NAMES_BYTES] = (double)(out->at - before);
  if (marked == 0) return 0;
  before = out->at;
  if (put_head(out, folder, name, numbers) == 0) numbers[KIND] = PLAIN;
  else out->at = before;
  return 0;
}

/* Fills up the answer that began there, and puts its numbers where they belong. */
static int end_answer(struct output *out, char *start, double *numbers) {
  const size_t head = NUMBERS * sizeof *numbers;
  while ((out->at - start) % 8 != 0) if (put_byte(out, 0) != 0) return -1;
  uint64_t all = 0;
  for (const char *at = start + head; at < out->at; at += 8) {
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    all |= eight;
  }
  numbers[REST_BYTES] = (double)(out->at - start) - (double)head;
  numbers[REST_IS_ASCII] = (all & 0x8080808080808080) == 0;
  memcpy(start, numbers, head);
  return 0;
}

/* The answer for one folder, or nothing. */
static void put_folder(struct output *out, const char *name) {
  double numbers[NUMBERS] = { 0 };
  char *start = out->at;
  int folder = openat(AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (folder == -1) return;
  int looked = put(out, numbers, sizeof numbers);
  if (looked == 0) looked = look_inside(out, folder, name, numbers);
  close(folder);
  if (looked == 0) looked = end_answer(out, start, numbers);
  if (looked != 0) out->at = start;
}

/* Those that discovery does not enter; the caller asks about none of them. */
static int is_skipped(const char *name) {
  return name[0] == '.' || strcmp(name, "node_modules") == 0 || strcmp(name, "__pycache__") == 0 || strcmp(name, "venv") == 0;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The working directory: the names in it, sorted, each with its kind and length before it and a zero behind it. */
struct directory {
  struct stat stats;
  char *names[FOLDERS], *folders[FOLDERS];
  long entries, count;
};

static size_t length_of(const char *name) { return (unsigned char)name[-1]; }

/* What is in the working directory; where that is too much, or not known, the caller looks itself. */
static void list(struct directory *here) {
  int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char *memory = malloc(LIST_BYTES), *at = memory;
  if (fd == -1 || memory == NULL || fstat(fd, &here->stats) != 0) _exit(2);
  for (;;) {
    long length = syscall(SYS_getdents64, fd, names, sizeof names);
    if (length < 0) _exit(2);
    if (length == 0) break;
    for (long next = 0; next < length;) {
      const struct entry *entry = (const struct entry *)(names + next);
      next += entry->length;
      if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0) continue;
      size_t size = strlen(entry->name);
      if (kind_of(entry->type) == 0 || here->entries == FOLDERS) _exit(2);
      if (size > 255 || (size_t)(memory + LIST_BYTES - at) < size + 3) _exit(2);
      at[0] = kind_of(entry->type);
      at[1] = (char)size;
      here->names[here->entries++] = memcpy(at + 2, entry->name, size + 1);
      at += size + 3;
    }
  }
  close(fd);
  qsort(here->names, (size_t)here->entries, sizeof *here->names, compare);
  for (long each = 0; each < here->entries; each++) {
    char *name = here->names[each];
    if (name[-2] == 'd' && !is_skipped(name)) here->folders[here->count++] = name;
  }
}

static void write_all(int fd, const char *from, const char *end) {
  while (from < end) {
    ssize_t written = write(fd, from, (size_t)(end - from));
    if (written < 0) _exit(2);
    from += written;
  }
}

/* The names in the working directory, as many to an answer as there is room for, and its state behind them. */
static void write_listing(const struct directory *here) {
  static char memory[PIECE_BYTES];
  for (long each = 0; each < here->entries;) {
    struct output out = { memory, memory + sizeof memory - 8 };
    double numbers[NUMBERS] = { NAMES };
    if (put(&out, numbers, sizeof numbers) != 0) _exit(2);
    for (; each < here->entries; each++)
      if (put(&out, here->names[each] - 2, length_of(here->names[each]) + 2) != 0) break;
    numbers[NAMES_BYTES] = (double)(out.at - memory) - sizeof numbers;
    out.end += 8;
    if (end_answer(&out, memory, numbers) != 0) _exit(2);
    write_all(OUTPUTS[0], memory, out.at);
  }
  double numbers[NUMBERS] = { NAMES_END };
  numbers[DEVICE] = (double)here->stats.st_dev;
  set_state(numbers + FOLDER, &here->stats);
  write_all(OUTPUTS[0], (const char *)numbers, (const char *)(numbers + NUMBERS));
}

/* Every `step`th block from `first` on, each followed by an empty answer that says so. */
static void look(char **folders, long count, long first, long step) {
  static const double block_end[NUMBERS] = { BLOCK_END };
  size_t size = (size_t)BLOCK * ANSWER_BYTES;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) _exit(2);
  for (long block = first; block * BLOCK < count; block += step) {
    struct output out = { memory, memory + size };
    for (long at = block * BLOCK; at < count && at < (block + 1) * BLOCK; at++) put_folder(&out, folders[at]);
    /* There is room: no folder takes all of its share. */
    if (put(&out, block_end, sizeof block_end) != 0) _exit(2);
    write_all(OUTPUTS[block % 2], memory, out.at);
  }
}

int main(void) {
  static struct directory here;
  /* Whoever fills their folders must not fill the disk: past this the caller looks itself. The signal would leave a core. */
  struct rlimit most = { OUTPUT_BYTES, OUTPUT_BYTES };
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &most) != 0) return 2;
  list(&here);
  write_listing(&here);
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || here.count <= BLOCK) {
    look(here.folders, here.count, 0, 1);
    return 0;
  }
  pid_t self = getpid(), child = fork();
  if (child == -1) return 2;
  /* Whoever ends us ends both. */
  if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != self)) _exit(2);
  look(here.folders, here.count, child == 0, 2);
  if (child == 0) _exit(0);
  int status;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
