/* Calls system calls by number with harmless arguments and prints what the kernel said: "name errno". */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc == 2 && !strcmp(argv[1], "int80")) {
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid of i386 */
    printf("int80 %ld\n", result);
#endif
    return 0;
  }
  /* name number arg0 arg1 arg2, again and again. Each in a child: one may kill. */
  for (int i = 1; i + 4 < argc; i += 5) {
    long number = strtol(argv[i + 1], NULL, 0);
    long a = strtol(argv[i + 2], NULL, 0), b = strtol(argv[i + 3], NULL, 0), c = strtol(argv[i + 4], NULL, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      errno = 0;
      long result = syscall(number, a, b, c, 0L, 0L, 0L);
      printf("%s %d\n", argv[i], result < 0 ? errno : 0);
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("%s signal %d\n", argv[i], WTERMSIG(status));
  }
  return 0;
}
