/*
 * A user for one run, where the agent is root: the run's processes have an id that nothing else on this machine has,
 * so no run can signal, trace or read another one, and limits per user hold. Files on disk keep their owner: the
 * run's mounts show root's files as files of that user (mounts with mapped ids, Linux 5.12). Another file system than
 * those of the run's mounts shows them as root's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"
#include "mounts.h"

enum { open_tree_clone = 1, move_mount_from_fd = 4 };

static bool write_map(pid_t pid, const char *name, unsigned user) {
  char path[64], map[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int length = snprintf(map, sizeof map, "0 %u 1", user);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = write(fd, map, (size_t)length) == length;
  close(fd);
  return done;
}

int user_namespace_of(unsigned user) {
  pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid < 0) return -1;
  if (pid == 0) {
    for (;;) pause();
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
  bool mapped = write_map(pid, "uid_map", user) && write_map(pid, "gid_map", user);
  int fd = mapped ? open(path, O_RDONLY | O_CLOEXEC) : -1, error = errno;
  /* The namespace's first process reaps it later; waiting would cost milliseconds on a busy machine. */
  kill(pid, SIGKILL);
  errno = error;
  return fd;
}

int tree_for_user(int fd, int user_namespace) {
  int tree = (int)syscall(nr_open_tree_call, fd, "", open_tree_clone | O_CLOEXEC | at_recursive | at_empty_path);
  if (tree < 0) return -1;
  struct mount_change map = {.set = attr_idmap, .user_namespace = (uint64_t)user_namespace};
  if (syscall(nr_mount_setattr_call, tree, "", at_empty_path | at_recursive, &map, sizeof map) == 0) return tree;
  int error = errno;
  close(tree);
  errno = error;
  return -1;
}

int attach_tree(int tree, const char *path) {
  return syscall(nr_move_mount_call, tree, "", AT_FDCWD, path, move_mount_from_fd) == 0 ? 0 : errno;
}

/* Programs ask for the name of their user; the copy has it, whatever id it is. Nothing depends on success. */
void name_run_user(unsigned user, const char *copy, char **environment) {
  const char *home = "/";
  for (char **variable = environment; *variable != NULL; variable++) {
    if (strncmp(*variable, "HOME=/", 6) == 0) home = *variable + 5;
  }
  int from = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  int to = from < 0 ? -1 : open(copy, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (to >= 0) {
    char block[65536];
    ssize_t length = read(from, block, sizeof block), written = write(to, block, length > 0 ? (size_t)length : 0);
    bool whole = written == length && dprintf(to, "run:x:%u:%u::%s:/bin/sh\n", user, user, home) > 0;
    if (whole) whole = mount(copy, "/etc/passwd", NULL, MS_BIND, NULL) == 0;
    close(to);
    unlink(copy);
  }
  if (from >= 0) close(from);
}

int become_run_user(const struct plan *plan) {
  id_t user = plan->run_user;
  if (user == 0) return 0;
  return setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 ? 0 : errno;
}
