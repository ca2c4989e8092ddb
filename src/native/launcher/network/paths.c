/* AF_UNIX addresses: which file does a path lead to, and is it one of the run's? */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "network.h"

enum { max_path = 4096 };

static bool is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/';
}

static bool is_of_run(const char *path) {
  const struct plan *plan = network_plan();
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (plan->rules[at].access == access_write && is_below(path, plan->rules[at].path)) return true;
  }
  /* Such a path is in the program's own mounts, because the file was opened from its root. */
  return plan->temporary != NULL && plan->namespaces && is_below(path, "/tmp");
}

/* The path as an absolute one. */
static int absolute_path(pid_t pid, const char *path, char *into) {
  char link[64];
  if (path[0] == '/') return snprintf(into, max_path, "%s", path) < max_path ? 0 : ENAMETOOLONG;
  snprintf(link, sizeof link, "/proc/%d/cwd", pid);
  ssize_t length = readlink(link, into, max_path - 1);
  if (length < 0) return errno;
  into[length] = '\0';
  return snprintf(into + length, (size_t)(max_path - length), "/%s", path) < max_path - length ? 0 : ENAMETOOLONG;
}

static int open_in_root(pid_t pid, const char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/root", pid);
  int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -errno;
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  int file = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
  int error = errno;
  close(root);
  return file < 0 ? -error : file;
}

int open_socket_file(pid_t pid, const struct sockaddr_un *asked, socklen_t length, struct sockaddr_un *opened) {
  char path[max_path], found[max_path], name[sizeof asked->sun_path + 1] = "";
  if (length <= offsetof(struct sockaddr_un, sun_path)) return -EINVAL;
  if (asked->sun_path[0] == '\0') {
    report_refused_path("@");
    return -EACCES;
  }
  memcpy(name, asked->sun_path, length - offsetof(struct sockaddr_un, sun_path));
  int error = absolute_path(pid, name, path);
  if (error != 0) return -error;
  int file = open_in_root(pid, path);
  if (file < 0) return file;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t got = readlink(link, found, sizeof found - 1);
  if (got >= 0) found[got] = '\0';
  if (got < 0 || !is_of_run(found)) {
    report_refused_path(name);
    close(file);
    return -EACCES;
  }
  memset(opened, 0, sizeof *opened);
  opened->sun_family = AF_UNIX;
  snprintf(opened->sun_path, sizeof opened->sun_path, "%s", link);
  return file;
}
