/* Who a process is, from /proc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "network.h"

static bool number_after(const char *text, const char *name, int *number) {
  const char *found = strstr(text, name);
  return found != NULL && sscanf(found + strlen(name), "%d", number) == 1;
}

bool read_process(pid_t pid, struct process *process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  size_t length = 0;
  for (ssize_t got; length < sizeof text - 1 && (got = read(file, text + length, sizeof text - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  close(file);
  text[length] = '\0';
  /* The kernel escapes line ends in names, so a program cannot forge a line by its name. */
  return number_after(text, "\nTgid:", &process->group) && number_after(text, "\nPPid:", &process->parent);
}

bool is_single_threaded(pid_t pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char *at = strrchr(text, ')'); /* the name before it may contain anything */
  long threads = 0;
  /* state, parent, group, session, terminal, its group, flags, 4 faults, 4 times, priority, nice, threads */
  return at != NULL &&
         sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &threads) == 1 &&
         threads == 1;
}
