/*
 * skillbox-scan: looks at many folders at once, for discovery (src/catalog/look-ahead.ts).
 *
 * Its working directory is the directory that holds them; their names come on stdin, each ended by a NUL. For each it says
 * on stdout, in the order of the names, what a scan would ask about: the folder's state, the names in it with their kinds,
 * and the head of its SKILL.md. It judges nothing. What is odd in any way (a link, another kind of file, too much of
 * anything) is answered with UNKNOWN, and the caller looks itself; so does it when this program is missing or fails.
 *
 * An answer is NUMBERS doubles, then the names (for each its kind, its length and itself), then the head, then zeros up to a
 * multiple of eight bytes, so that the caller can read the numbers where they lie.
 *
 * Links are never followed and nothing but plain files is read, without waiting. All sizes are bounded. It writes nothing
 * but its answer.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNKNOWN = 0, LISTED = 1, HEADED = 2 };
/* What each number is; FOLDER and SKILL start with the inode, FOLDER has its device before that. */
enum { KIND, REST_BYTES, NAMES_BYTES, HEAD_LENGTH, DEVICE, FOLDER, SKILL = FOLDER + 6, NUMBERS = SKILL + 6 };
enum {
  INPUT_BYTES = 32 << 20,   /* names */
  OUTPUT_BYTES = 48 << 20,  /* of each half; what comes after is UNKNOWN */
  ENTRIES = 256,          /* in a folder */
  FILE_BYTES = 96 << 10,    /* of SKILL.md, as the caller has it */
  HEAD_BYTES = 16 << 10,
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

static char file[FILE_BYTES];
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
  for (;;) {
    long length = syscall(SYS_getdents64, folder, names, sizeof names);
    if (length < 0) return -1;
    if (length == 0) break;
    for (long at = 0; at < length;) {
      const struct entry *entry = (const struct entry *)(names + at);
      at += entry->length;
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

/* The frontmatter of SKILL.md with both fences; how long it is, or -1: not this one. */
static long put_head(struct output *out, int folder, double *numbers) {
  int skill = openat(folder, "SKILL.md", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (skill == -1) return -1;
  struct stat stats;
  ssize_t length = -1;
  if (fstat(skill, &stats) == 0 && S_ISREG(stats.st_mode) && stats.st_size < FILE_BYTES)
    length = read(skill, file, sizeof file);
  close(skill);
  if (length < 8 || length != stats.st_size || memcmp(file, "---\n", 4) != 0) return -1;
  const char *fence = memmem(file + 3, (size_t)length - 3, "\n---\n", 5);
  if (fence == NULL || fence - file > HEAD_BYTES) return -1;
  /* It may hold tools, for which the whole file has to be read. */
  if (memmem(file, (size_t)length, "####", 4) != NULL) return -1;
  set_state(numbers, &stats);
  long head = fence + 5 - file;
  return put(out, file, (size_t)head) == 0 ? head : -1;
}

/* What follows the numbers, and the numbers themselves; -1 when the caller has to look. */
static int look_inside(struct output *out, int folder, double *numbers) {
  struct stat stats;
  if (fstat(folder, &stats) != 0) return -1;
  numbers[DEVICE] = (double)stats.st_dev;
  set_state(numbers + FOLDER, &stats);
  char *before = out->at;
  int marked = put_names(out, folder);
  if (marked == -1) return -1;
  numbers[KIND] = LISTED;
  numbers[NAMES_BYTES] = (double)(out->at - before);
  if (marked == 0) return 0;
  before = out->at;
  long head = put_head(out, folder, numbers + SKILL);
  if (head == -1) out->at = before;
  else numbers[KIND] = HEADED, numbers[HEAD_LENGTH] = (double)head;
  return 0;
}

/* The answer for one folder. -1: there is no room for one. */
static int put_folder(struct output *out, const char *name) {
  double numbers[NUMBERS] = { UNKNOWN };
  char *start = out->at;
  if (put(out, numbers, sizeof numbers) != 0) return -1;
  char *rest = out->at;
  int folder = openat(AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (folder == -1) return 0;
  int looked = look_inside(out, folder, numbers);
  close(folder);
  while (looked == 0 && (out->at - start) % 8 != 0) looked = put_byte(out, 0);
  if (looked == 0) {
    numbers[REST_BYTES] = (double)(out->at - rest);
    memcpy(start, numbers, sizeof numbers);
  } else {
    out->at = rest;
  }
  return 0;
}

/* 0 when there is an answer for every name; otherwise those that are missing at the end are as good as UNKNOWN. */
static int look(struct output *out, const char *name, const char *end) {
  for (; name < end; name += strlen(name) + 1)
    if (put_folder(out, name) != 0) return -1;
  return 0;
}

static char *read_input(size_t *length) {
  char *input = malloc(INPUT_BYTES + 1);
  if (input == NULL) _exit(2);
  *length = 0;
  for (;;) {
    ssize_t got = read(0, input + *length, INPUT_BYTES + 1 - *length);
    if (got < 0) _exit(2);
    if (got == 0) break;
    *length += (size_t)got;
    if (*length > INPUT_BYTES) _exit(2);
  }
  if (*length == 0 || input[*length - 1] != 0) _exit(2);
  return input;
}

static void write_output(const char *from, const char *end) {
  while (from < end) {
    ssize_t written = write(1, from, (size_t)(end - from));
    if (written < 0) _exit(2);
    from += written;
  }
}

static char *new_memory(int flags) {
  char *memory = mmap(NULL, OUTPUT_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) _exit(2);
  return memory;
}

int main(void) {
  size_t length;
  char *input = read_input(&length), *end = input + length;
  /* From the middle on, another process looks at the same time; at the start of its memory stands how much it said. */
  char *middle = input + length / 2;
  middle += strlen(middle) + 1;
  char *other = new_memory(MAP_SHARED);
  pid_t child = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? fork() : -1;
  if (child == 0) {
    struct output out = { other + sizeof(size_t), other + OUTPUT_BYTES };
    look(&out, middle, end);
    size_t said = (size_t)(out.at - other);
    memcpy(other, &said, sizeof said);
    _exit(0);
  }
  char *own = new_memory(MAP_PRIVATE);
  struct output out = { own, own + OUTPUT_BYTES };
  int whole = look(&out, input, child == -1 ? end : middle);
  write_output(own, out.at);
  if (child == -1 || whole != 0) return 0;
  int status;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 2;
  size_t said;
  memcpy(&said, other, sizeof said);
  if (said < sizeof said || said > OUTPUT_BYTES) return 2;
  write_output(other + sizeof said, other + said);
  return 0;
}
