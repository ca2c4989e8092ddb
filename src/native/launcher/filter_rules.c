/* Rules of the seccomp filter by subject: new processes and namespaces, modes of files, sockets. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"

static bool is_group_of_own_folder(const struct plan *plan, gid_t group) {
  struct stat status;
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (plan->rules[at].access != access_write || stat(plan->rules[at].path, &status) != 0) continue;
    if (status.st_gid == group) return true;
  }
  return false;
}

/*
 * The kernel sets the set-gid bit only for groups of the process. A run with a user of its own writes files of the
 * group root. A group that has none of the run's folders was given for something else on this host.
 */
bool may_set_group_id(const struct plan *plan) {
  gid_t groups[256];
  int count = getgroups(sizeof groups / sizeof *groups, groups);
  if (plan->run_user != 0 || getegid() == 0 || count < 0) return false;
  for (int at = 0; at < count; at++) {
    if (groups[at] == getegid()) continue;
    if (groups[at] == 0 || !is_group_of_own_folder(plan, groups[at])) return false;
  }
  return true;
}

#if defined(__x86_64__) || defined(__aarch64__)

/* The same on every architecture; headers may be older than the kernel. */
enum { nr_openat2 = 437, nr_fchmodat2 = 452, nr_setxattrat = 463, nr_removexattrat = 466, nr_file_setattr = 469 };

enum { refuse_rest = 0x06020080 }; /* mounts, host names, control groups, clocks */
#define ALL_NAMESPACES 0x7E020080U

static void refuse_if_any(uint32_t bits, int error) {
  emit(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  refuse_with(error);
}

/* A browser's sandbox needs namespaces for users, processes, networks and System V objects; nobody needs others. */
void filter_new_processes(const struct plan *plan) {
  load_number();
#ifdef SYS_fork
  if (!plan->programs) {
    refuse_if_equal(SYS_fork, EPERM);
    refuse_if_equal(SYS_vfork, EPERM);
  }
#endif
  bool sandbox = plan->programs && plan->user_namespaces;
  uint32_t refused = sandbox ? refuse_rest : ALL_NAMESPACES;
  if (!sandbox) refuse_if_equal(SYS_chroot, EPERM);
  size_t block = begin_block(SYS_unshare);
  load_argument(0);
  refuse_if_any(refused, EPERM);
  end_block(block);
  block = begin_block(SYS_clone);
  load_argument(0);
  /* The low byte of `clone` is a signal. */
  refuse_if_any(refused & ~0xffU, EPERM);
  if (!plan->programs) {
    emit(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    refuse_with(EPERM);
  }
  end_block(block);
}

/* The mode is an argument; if `flags_at` is not negative, only if these flags create a file. */
static void refuse_set_id(int call, uint32_t bits, int mode_at, int flags_at) {
  size_t block = begin_block(call);
  if (flags_at >= 0) {
    load_argument(flags_at);
    /* O_TMPFILE has the bits of O_DIRECTORY too, which open existing folders. */
    emit(BPF_JMP | BPF_JSET | BPF_K, O_CREAT | 020000000, 0, 3);
  }
  load_argument(mode_at);
  refuse_if_any(bits, EPERM);
  end_block(block);
}

/*
 * No program may become set-uid or set-gid, not even below the run's own folders: every local user could run it. The
 * bit for groups is also one of folders, which copies of them keep (`cp -r`, package managers). It is allowed where a
 * program with it has no rights beyond the run's. mkdir needs no rule: the kernel ignores both bits there. A program
 * that can start no other needs no change of modes, owners, times or attributes; in other namespaces
 * read-only mounts keep it from the files of others.
 */
void filter_modes(const struct plan *plan, bool in_namespaces) {
  const int changes[] = {
#ifdef SYS_chmod
      SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
      SYS_fchmodat, nr_fchmodat2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
      SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, nr_setxattrat, nr_removexattrat, nr_file_setattr, SYS_fchmod};
  load_number();
  if (!plan->programs && !in_namespaces) {
    for (size_t at = 0; at < sizeof changes / sizeof *changes; at++) refuse_if_equal((uint32_t)changes[at], EPERM);
  }
  /* Its mode is in memory, which a filter cannot read. Programs fall back to openat. */
  refuse_if_equal(nr_openat2, ENOSYS);
  const uint32_t both = S_ISUID | S_ISGID, changed = plan->may_set_group_id ? S_ISUID : both;
  refuse_set_id(SYS_fchmod, changed, 1, -1);
  refuse_set_id(SYS_fchmodat, changed, 2, -1);
  refuse_set_id(nr_fchmodat2, changed, 2, -1);
  refuse_set_id(SYS_mknodat, both, 2, -1);
  refuse_set_id(SYS_openat, both, 3, 2);
#ifdef SYS_chmod
  refuse_set_id(SYS_chmod, changed, 1, -1);
  refuse_set_id(SYS_mknod, both, 1, -1);
  refuse_set_id(SYS_creat, both, 1, -1);
  refuse_set_id(SYS_open, both, 2, 1);
#endif
}

/* Continues if the loaded value is one of these. */
static void refuse_unless(const uint32_t *values, size_t count, int error) {
  for (size_t at = 0; at < count; at++) emit(BPF_JMP | BPF_JEQ | BPF_K, values[at], (uint8_t)(count - at), 0);
  refuse_with(error);
}

/* Instructions for one family of sockets; the family is loaded before and after them. */
static void filter_family(uint32_t family, uint8_t instructions) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, family, 0, instructions);
}

/*
 * Sockets of the internet, for questions about the machine's own addresses, and, for programs that start others,
 * local ones. Rare families (virtual machines, packets, Bluetooth, cryptography …) and rare protocols are the part of
 * the kernel that is attacked most, and no script needs them.
 */
void filter_sockets(const struct plan *plan) {
  static const uint32_t types[] = {SOCK_STREAM, SOCK_DGRAM};
  /* any, ICMP, TCP, UDP, ICMPv6, multipath TCP */
  static const uint32_t protocols[] = {0, 1, 6, 17, 58, 262};
  const uint32_t families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_UNIX};
  load_number();
  size_t block = begin_block(SYS_socket);
  load_argument(0);
  refuse_unless(families, plan->programs ? 4 : 3, EAFNOSUPPORT);
  /* Local sockets: 1 instruction; routes: 4 instructions. The rest is for the internet. */
  filter_family(AF_UNIX, 1);
  emit(BPF_RET | BPF_K, 0x7fff0000U, 0, 0);
  filter_family(AF_NETLINK, 4);
  load_argument(2);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0 /* NETLINK_ROUTE */, 0, 1);
  emit(BPF_RET | BPF_K, 0x7fff0000U, 0, 0);
  refuse_with(EPROTONOSUPPORT);
  load_argument(1);
  emit(BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
  refuse_unless(types, 2, EPERM);
  load_argument(2);
  refuse_unless(protocols, 6, EPROTONOSUPPORT);
  end_block(block);
  if (plan->programs) return;
  /* A pair could be connected to another socket. */
  load_number();
  refuse_if_equal(SYS_socketpair, EAFNOSUPPORT);
}

#endif
