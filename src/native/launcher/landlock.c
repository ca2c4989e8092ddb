/*
 * Landlock: files outside the rules cannot be accessed, whoever owns them. From version 6 this includes signals to,
 * and abstract sockets of, processes outside. It always prevents reading processes outside (/proc/<pid>/environ, mem,
 * fd). The numbers are defined here because a host's headers may be older than its kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

enum { sys_create_ruleset = 444, sys_add_rule = 445, sys_restrict_self = 446 };

enum {
  fs_execute = 1 << 0,
  fs_write_file = 1 << 1,
  fs_read_file = 1 << 2,
  fs_read_dir = 1 << 3,
  fs_all_of_v1 = (1 << 13) - 1,
  fs_refer = 1 << 13,
  fs_truncate = 1 << 14,
  fs_ioctl_dev = 1 << 15,
  fs_resolve_unix = 1 << 16,
  fs_of_files = fs_execute | fs_write_file | fs_read_file | fs_truncate | fs_ioctl_dev,
  fs_make_char = 1 << 6,
  fs_make_block = 1 << 11,
  scope_abstract_socket = 1 << 0,
  scope_signal = 1 << 1,
};

struct ruleset {
  uint64_t handled_fs;
  uint64_t handled_net;
  uint64_t scoped;
};

struct path_beneath {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

int landlock_version(void) {
  long version = syscall(sys_create_ruleset, NULL, 0, 1U);
  return version < 0 ? 0 : (int)version;
}

static uint64_t handled_by(int version) {
  uint64_t handled = fs_all_of_v1;
  if (version >= 2) handled |= fs_refer;
  if (version >= 3) handled |= fs_truncate;
  if (version >= 5) handled |= fs_ioctl_dev;
  /* Sockets below paths without the right, unless this program created them. */
  if (version >= 9) handled |= fs_resolve_unix;
  return handled;
}

static uint64_t rights_of(const struct plan *plan, enum access access) {
  switch (access) {
    case access_list:
      return fs_read_dir;
    case access_read:
      return fs_read_file | fs_read_dir | fs_execute;
    case access_use:
      return fs_read_file | fs_read_dir | fs_write_file | fs_truncate;
    case access_write:
    default: {
      uint64_t rights = (uint64_t)(fs_all_of_v1 | fs_refer | fs_truncate | fs_resolve_unix) & ~(uint64_t)(fs_make_char | fs_make_block);
      return plan->programs ? rights : rights & ~(uint64_t)fs_execute;
    }
  }
}

static int add(int ruleset, uint64_t handled, const struct plan *plan, const struct path_rule *rule) {
  int fd = open(rule->path, O_PATH | O_CLOEXEC);
  if (fd < 0) return 0; /* a missing file needs no rule */
  struct stat status;
  struct path_beneath beneath = {rights_of(plan, rule->access) & handled, fd};
  if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode)) beneath.allowed &= fs_of_files;
  long done = syscall(sys_add_rule, ruleset, 1, &beneath, 0U);
  int error = done == 0 ? 0 : errno;
  close(fd);
  return error;
}

int install_landlock(const struct plan *plan) {
  int version = landlock_version();
  if (version == 0) return ENOSYS;
  struct ruleset wanted = {handled_by(version), 0, version >= 6 ? scope_abstract_socket | scope_signal : 0};
  size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  int ruleset = (int)syscall(sys_create_ruleset, &wanted, size, 0U);
  if (ruleset < 0) return errno;
  int error = 0;
  for (size_t at = 0; at < plan->rule_count && error == 0; at++) {
    error = add(ruleset, wanted.handled_fs, plan, &plan->rules[at]);
  }
  /* The path through /tmp is different from the one through the folders above it. */
  const struct path_rule temporary = {plan->temporary, access_write};
  if (error == 0 && plan->temporary != NULL) error = add(ruleset, wanted.handled_fs, plan, &temporary);
  if (error == 0 && syscall(sys_restrict_self, ruleset, 0U) != 0) error = errno;
  close(ruleset);
  return error;
}
