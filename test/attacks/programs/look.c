/* What lies in each directory that is named: for an image that has no program of its own to tell. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    struct dirent **names;
    int count = scandir(argv[i], &names, NULL, alphasort);
    if (count < 0) return 1;
    printf("%s:", argv[i]);
    for (int at = 0; at < count; at++)
      if (strcmp(names[at]->d_name, ".") && strcmp(names[at]->d_name, "..")) printf(" %s", names[at]->d_name);
    puts("");
  }
  return 0;
}
