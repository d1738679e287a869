/*
 * The name and description of a SKILL.md whose frontmatter is as plain as most are: what src/dialects/plain-head.ts does, line
 * by line, for skillbox-scan. The two are held to each other by test/catalog/plain-head-c.test.ts; where they could differ,
 * this one says that the file is not plain, and the caller reads it.
 *
 * All positions are in bytes from the start of the file, which ends with a zero that is none of its own.
 */
#include <stdint.h>
#include <string.h>

enum { MAX_HEAD_BYTES = 16 << 10, MAX_NAME_BYTES = 64, MAX_INNER_KEYS = 32, NOT_PLAIN = -1 };
enum { KEY_NAME, KEY_DESCRIPTION, KEY_METADATA = 4, KEYS = 6 };

struct text {
  const unsigned char *bytes;
  long length;
};

/* A value that is known to be plain: where it starts, and the end of the line on which it ends. */
struct value {
  long start, end;
};

struct plain_head {
  struct value name, description;
};

static const char *const head_keys[KEYS] = {
  "name:", "description:", "license:", "compatibility:", "metadata:", "allowed-tools:",
};

static int starts_with(const struct text *text, long at, const char *word) {
  long size = (long)strlen(word);
  return text->length - at >= size && memcmp(text->bytes + at, word, (size_t)size) == 0;
}

/* The character at `at`, and how many bytes it has; 0 bytes when it is no UTF-8. */
static int character_at(const unsigned char *at, const unsigned char *end, uint32_t *character) {
  static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
  int size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
  if (size == 0 || end - at < size) return 0;
  *character = size == 1 ? at[0] : at[0] & (0xffu >> (size + 1));
  for (int next = 1; next < size; next++) {
    if ((at[next] & 0xc0) != 0x80) return 0;
    *character = *character << 6 | (at[next] & 0x3f);
  }
  if (*character < least[size] || *character > 0x10ffff || (*character >= 0xd800 && *character <= 0xdfff)) return 0;
  return size;
}

/* Characters that YAML or trim() treat apart. */
static int is_odd(uint32_t c) {
  return (c >= 0x80 && c <= 0xa0) || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000 || c == 0xfeff || (c >= 0xfffd && c <= 0xffff);
}

static int is_usual(const struct text *text, long from, long to) {
  const unsigned char *at = text->bytes + from, *end = text->bytes + to;
  while (at < end) {
    if (*at < 0x80) {
      at++;
      continue;
    }
    uint32_t character;
    int size = character_at(at, end, &character);
    if (size == 0 || is_odd(character)) return 0;
    at += size;
  }
  return 1;
}

static int is_letter(unsigned char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

static int starts_word(const struct text *text, long at) {
  if (text->bytes[at] < 0x80) return is_letter(text->bytes[at]);
  uint32_t c;
  if (character_at(text->bytes + at, text->bytes + text->length, &c) == 0) return 0;
  return (c >= 0xc0 && c <= 0x1fff) || (c >= 0x3040 && c <= 0xd7ff);
}

/* Past at least one space; where there is none, to the end, where no value starts. */
static long skip_spaces(const struct text *text, long from) {
  long at = from;
  while (text->bytes[at] == ' ') at++;
  return at == from ? text->length : at;
}

static long end_of_quoted(const struct text *text, long from, unsigned char mark) {
  for (long at = from + 1; at < text->length; at++) {
    unsigned char byte = text->bytes[at];
    if (byte == mark) return text->bytes[at + 1] == '\n' && is_usual(text, from, at) ? at + 1 : NOT_PLAIN;
    if (byte < ' ' || byte == '\\' || byte == 0x7f) return NOT_PLAIN;
  }
  return NOT_PLAIN;
}

/* No mapping, comment or key without a value in it, and no space at its end. */
static long end_of_plain(const struct text *text, long from) {
  unsigned char before = 0;
  for (long at = from; at < text->length; at++) {
    unsigned char byte = text->bytes[at];
    if (byte == '\n') {
      int whole = before != 0 && before != ' ' && before != ':';
      return whole && starts_word(text, from) && is_usual(text, from, at) ? at : NOT_PLAIN;
    }
    if (byte < ' ' || byte == 0x7f) return NOT_PLAIN;
    if ((byte == ' ' && before == ':') || (byte == '#' && before == ' ')) return NOT_PLAIN;
    before = byte;
  }
  return NOT_PLAIN;
}

static long end_of_indented(const struct text *text, long from, long indent) {
  if (indent > text->length - from) return NOT_PLAIN;
  for (long at = from; at < from + indent; at++)
    if (text->bytes[at] != ' ') return NOT_PLAIN;
  if (text->bytes[from + indent] <= ' ') return NOT_PLAIN;
  for (long at = from + indent; at < text->length; at++) {
    unsigned char byte = text->bytes[at];
    if (byte == '\n') return text->bytes[at - 1] == ' ' ? NOT_PLAIN : at;
    if (byte < ' ' || byte == 0x7f) return NOT_PLAIN;
  }
  return NOT_PLAIN;
}

/* Of a block, where its first line starts. */
static long block_lines(const struct text *text, long from) {
  return from + (text->bytes[from + 1] == '-' ? 3 : 2);
}

/* `>` or `|`, perhaps with `-`, and lines below it that all have one indentation; none of them is blank. */
static long end_of_block(const struct text *text, long from) {
  long lines = block_lines(text, from);
  if (lines > text->length || text->bytes[lines - 1] != '\n') return NOT_PLAIN;
  long indent = skip_spaces(text, lines) - lines;
  long end = lines - 1;
  while (text->bytes[end + 1] == ' ') {
    end = end_of_indented(text, end + 1, indent);
    if (end == NOT_PLAIN) return NOT_PLAIN;
  }
  /* A blank line may end the block or belong to it. */
  return end == lines - 1 || text->bytes[end + 1] == '\n' || !is_usual(text, from, end) ? NOT_PLAIN : end;
}

static long end_of_value(const struct text *text, long at) {
  unsigned char first = text->bytes[at];
  if (first == '"' || first == '\'') return end_of_quoted(text, at, first);
  if (first == '>' || first == '|') return end_of_block(text, at);
  return end_of_plain(text, at);
}

static int is_inner_key(const unsigned char *key, long size) {
  static const char *const reserved[] = {
    "__proto__", "constructor", "prototype", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE",
  };
  if (size < 1 || size > 64 || (!is_letter(key[0]) && key[0] != '_')) return 0;
  for (long at = 1; at < size; at++)
    if (!is_letter(key[at]) && key[at] != '_' && key[at] != '-' && (key[at] < '0' || key[at] > '9')) return 0;
  for (size_t at = 0; at < sizeof reserved / sizeof reserved[0]; at++)
    if (strlen(reserved[at]) == (size_t)size && memcmp(reserved[at], key, (size_t)size) == 0) return 0;
  return 1;
}

/* A mapping of words to quoted or plain values, all at one indentation: the start of the line after it. */
static long end_of_map(const struct text *text, long from) {
  struct { long at, size; } keys[MAX_INNER_KEYS];
  int count = 0;
  long indent = skip_spaces(text, from) - from, at = from;
  while (text->bytes[at] == ' ') {
    if (indent > text->length - at || count == MAX_INNER_KEYS) return NOT_PLAIN;
    for (long space = at; space < at + indent; space++)
      if (text->bytes[space] != ' ') return NOT_PLAIN;
    long key = at + indent, end = key;
    while (end < text->length && end - key <= 64 && text->bytes[end] != ':') end++;
    if (end == text->length || text->bytes[end] != ':' || !is_inner_key(text->bytes + key, end - key)) return NOT_PLAIN;
    for (int other = 0; other < count; other++) {
      if (keys[other].size == end - key &&
          memcmp(text->bytes + keys[other].at, text->bytes + key, (size_t)(end - key)) == 0)
        return NOT_PLAIN;
    }
    keys[count].at = key, keys[count++].size = end - key;
    long value = skip_spaces(text, end + 1);
    unsigned char first = text->bytes[value];
    long line = first == '>' || first == '|' ? NOT_PLAIN : end_of_value(text, value);
    if (line == NOT_PLAIN) return NOT_PLAIN;
    at = line + 1;
  }
  return count == 0 ? NOT_PLAIN : at;
}

static int is_null(const struct text *text, struct value value) {
  const unsigned char *bytes = text->bytes + value.start;
  return value.end - value.start == 4 &&
         (memcmp(bytes, "null", 4) == 0 || memcmp(bytes, "Null", 4) == 0 || memcmp(bytes, "NULL", 4) == 0);
}

static int key_at(const struct text *text, long at) {
  for (int key = 0; key < KEYS; key++)
    if (starts_with(text, at, head_keys[key])) return key;
  return -1;
}

/* 0 when the text starts with a plain head; its values are then not empty, apart from spaces in quotes. */
static int read_plain_head(const struct text *text, struct plain_head *head) {
  if (!starts_with(text, 0, "---\n")) return NOT_PLAIN;
  unsigned seen = 0;
  for (long at = 4; at < text->length && at < MAX_HEAD_BYTES;) {
    if (text->bytes[at] == '\n') {
      at++;
      continue;
    }
    if (text->bytes[at] == '-') {
      unsigned wanted = 1u << KEY_NAME | 1u << KEY_DESCRIPTION;
      return (seen & wanted) == wanted && starts_with(text, at, "---\n") ? 0 : NOT_PLAIN;
    }
    int key = key_at(text, at);
    if (key == -1 || (seen & 1u << key) != 0) return NOT_PLAIN;
    seen |= 1u << key;
    at += (long)strlen(head_keys[key]);
    if (key == KEY_METADATA && text->bytes[at] == '\n') {
      at = end_of_map(text, at + 1);
      if (at == NOT_PLAIN) return NOT_PLAIN;
      continue;
    }
    struct value value = { skip_spaces(text, at), 0 };
    value.end = end_of_value(text, value.start);
    if (value.end == NOT_PLAIN) return NOT_PLAIN;
    if ((key == KEY_NAME || key == KEY_DESCRIPTION) && is_null(text, value)) return NOT_PLAIN;
    if (key == KEY_NAME) head->name = value;
    if (key == KEY_DESCRIPTION) head->description = value;
    at = value.end + 1;
  }
  return NOT_PLAIN;
}

/* What a value says, written to `to`, which has room for its bytes: how many they are, or NOT_PLAIN when there are none. */
static long text_of(const struct text *text, struct value value, char *to) {
  unsigned char first = text->bytes[value.start];
  long from = value.start, end = value.end, size = 0;
  if (first == '>' || first == '|') {
    long line = block_lines(text, from), indent = skip_spaces(text, line) - line;
    while (line < end) {
      const unsigned char *stop = memchr(text->bytes + line, '\n', (size_t)(end - line));
      long next = stop == NULL ? end : stop - text->bytes;
      if (size > 0) to[size++] = first == '|' ? '\n' : ' ';
      memcpy(to + size, text->bytes + line + indent, (size_t)(next - line - indent));
      size += next - line - indent;
      line = next + 1;
    }
    return size;
  }
  if (first == '"' || first == '\'') {
    for (from++, end--; from < end && text->bytes[from] == ' ';) from++;
    while (end > from && text->bytes[end - 1] == ' ') end--;
    if (from == end) return NOT_PLAIN;
  }
  memcpy(to, text->bytes + from, (size_t)(end - from));
  return end - from;
}

/* Words of small letters and digits with single dashes between them, as every format wants a name. */
static int is_kebab(const char *name, long size) {
  if (size < 1 || size > MAX_NAME_BYTES || name[0] == '-' || name[size - 1] == '-') return 0;
  for (long at = 0; at < size; at++) {
    char c = name[at];
    if (c == '-' ? name[at - 1] == '-' : (c < 'a' || c > 'z') && (c < '0' || c > '9')) return 0;
  }
  return 1;
}
