/* The seccomp filter that hands calls to the supervisor, and refuses sockets that it cannot judge. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "network.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef OWN_ARCHITECTURE

int install_network_filter(bool in_namespaces) {
  (void)in_namespaces;
  errno = ENOSYS;
  return -1;
}

#else

enum {
  max_instructions = 400,
  type_mask = 0xf,
  level_ip = 0,
  level_ipv6 = 41,
  flag_wait_killable = 1 << 5, /* since Linux 5.19 */
  nr_io_uring_setup = 425,
  nr_clone3 = 435,
  nr_close_range = 436,
  close_range_unshare = 1 << 1,
};

static struct sock_filter code[max_instructions];
static size_t length;

static void emit(uint16_t operation, uint32_t value, uint8_t when_true, uint8_t when_false) {
  if (length < max_instructions) code[length++] = (struct sock_filter){operation, when_true, when_false, value};
}

static void answer(uint32_t what) { emit(BPF_RET | BPF_K, what, 0, 0); }
static void refuse_with(int error) { answer(SECCOMP_RET_ERRNO | (uint32_t)error); }
/* The low half of an argument comes first on both architectures. */
static void load_argument(int index) {
  emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)index * 8), 0, 0);
}
static void load_high_half(int index) {
  emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)index * 8 + 4), 0, 0);
}
static void mask(uint32_t bits) { emit(BPF_ALU | BPF_AND | BPF_K, bits, 0, 0); }
static void when_equal(uint32_t value, uint32_t what) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
  answer(what);
}
static void refuse_flag(int argument, uint32_t flag, int error) {
  load_argument(argument);
  emit(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1);
  refuse_with(error);
}

/* The instructions up to `end_call` are for one system call, and each of their paths must end with an answer. */
static size_t begin_call(long number) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 1, 0);
  emit(BPF_JMP | BPF_JA, 0, 0, 0);
  return length - 1;
}
static void end_call(size_t block) { code[block].k = (uint32_t)(length - block - 1); }

static void notify_always(long number) { when_equal((uint32_t)number, SECCOMP_RET_USER_NOTIF); }

/* Calls that send to an address. TCP Fast Open connects as it sends. */
static void filter_sends(void) {
  size_t block = begin_call(SYS_sendto);
  refuse_flag(3, MSG_FASTOPEN, EOPNOTSUPP);
  load_argument(4);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  answer(SECCOMP_RET_USER_NOTIF);
  load_high_half(4);
  emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  answer(SECCOMP_RET_USER_NOTIF);
  answer(SECCOMP_RET_ALLOW);
  end_call(block);
  block = begin_call(SYS_sendmsg);
  refuse_flag(2, MSG_FASTOPEN, EOPNOTSUPP);
  answer(SECCOMP_RET_USER_NOTIF);
  end_call(block);
  block = begin_call(SYS_sendmmsg);
  refuse_flag(3, MSG_FASTOPEN, EOPNOTSUPP);
  answer(SECCOMP_RET_USER_NOTIF);
  end_call(block);
}

static uint32_t new_socket(void) { return network_makes_sockets() ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW; }

static void filter_internet_sockets(void) {
  load_argument(1);
  mask(type_mask);
  emit(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
  refuse_with(EPERM);
  load_argument(2);
  for (const uint32_t *protocol = (const uint32_t[]){IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6, 0};;
       protocol++) {
    when_equal(*protocol, new_socket());
    if (*protocol == 0) break;
  }
  refuse_with(EPROTONOSUPPORT);
}

/*
 * Only the families that Node and browsers use. Datagram sockets of AF_UNIX are refused, because each message can
 * name another path.
 */
static void filter_new_sockets(void) {
  size_t block = begin_call(SYS_socket);
  load_argument(0);
  size_t internet = begin_call(AF_INET);
  filter_internet_sockets();
  end_call(internet);
  internet = begin_call(AF_INET6);
  filter_internet_sockets();
  end_call(internet);
  size_t local = begin_call(AF_UNIX);
  load_argument(1);
  mask(type_mask);
  when_equal(SOCK_DGRAM, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
  when_equal(3 /* SOCK_RAW, which AF_UNIX takes for SOCK_DGRAM */, SECCOMP_RET_ERRNO | EPROTONOSUPPORT);
  answer(new_socket());
  end_call(local);
  size_t netlink = begin_call(AF_NETLINK);
  load_argument(2);
  when_equal(0 /* NETLINK_ROUTE */, new_socket());
  when_equal(15 /* NETLINK_KOBJECT_UEVENT */, new_socket());
  refuse_with(EPROTONOSUPPORT);
  end_call(netlink);
  refuse_with(EAFNOSUPPORT);
  end_call(block);
  block = begin_call(SYS_socketpair);
  load_argument(1);
  mask(type_mask);
  when_equal(SOCK_STREAM, SECCOMP_RET_ALLOW);
  when_equal(SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
  refuse_with(EPROTONOSUPPORT);
  end_call(block);
}

/* Source routes send a packet first to an address that no call names. */
static void filter_options(void) {
  size_t block = begin_call(SYS_setsockopt);
  load_argument(1);
  size_t level = begin_call(level_ip);
  load_argument(2);
  when_equal(4 /* IP_OPTIONS */, SECCOMP_RET_ERRNO | EPERM);
  answer(SECCOMP_RET_ALLOW);
  end_call(level);
  level = begin_call(level_ipv6);
  load_argument(2);
  when_equal(5 /* IPV6_2292RTHDR */, SECCOMP_RET_ERRNO | EPERM);
  when_equal(6 /* IPV6_2292PKTOPTIONS */, SECCOMP_RET_ERRNO | EPERM);
  when_equal(57 /* IPV6_RTHDR */, SECCOMP_RET_ERRNO | EPERM);
  answer(SECCOMP_RET_ALLOW);
  end_call(level);
  answer(SECCOMP_RET_ALLOW);
  end_call(block);
}

/*
 * The supervisor finds a socket by its number in the process. A thread with descriptors of its own would have other
 * sockets under the same numbers, and a process that shares them could exchange a socket while a call continues: all
 * threads of a process share one table, and nobody else does. A process that is not dumpable cannot be read, so the
 * wish is answered, not granted.
 */
static void filter_hiding(void) {
  size_t block = begin_call(SYS_unshare);
  refuse_flag(0, CLONE_FILES, EPERM);
  answer(SECCOMP_RET_ALLOW);
  end_call(block);
  block = begin_call(nr_close_range);
  refuse_flag(2, close_range_unshare, EPERM);
  answer(SECCOMP_RET_ALLOW);
  end_call(block);
  block = begin_call(SYS_clone);
  load_argument(0);
  mask(CLONE_THREAD | CLONE_FILES);
  when_equal(0, SECCOMP_RET_ALLOW);
  when_equal(CLONE_THREAD | CLONE_FILES, SECCOMP_RET_ALLOW);
  refuse_with(EPERM);
  end_call(block);
  block = begin_call(SYS_prctl);
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  load_argument(1);
  when_equal(0, SECCOMP_RET_ERRNO | 0);
  answer(SECCOMP_RET_ALLOW);
  end_call(block);
}

/* Calls on another process; 0 is the caller itself, or for SYS_kill its group. See signals.c. */
static void filter_processes(void) {
  static const struct {
    long number;
    int argument;
  } calls[] = {{SYS_kill, 0},          {SYS_tkill, 0},          {SYS_tgkill, 0},
               {SYS_rt_sigqueueinfo, 0}, {SYS_rt_tgsigqueueinfo, 0}, {SYS_prlimit64, 0},
               {SYS_sched_setaffinity, 0}, {SYS_sched_setscheduler, 0}, {SYS_sched_setparam, 0},
               {SYS_sched_setattr, 0}, {SYS_setpriority, 1},    {SYS_ioprio_set, 1}};
  for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
    size_t block = begin_call(calls[at].number);
    load_argument(calls[at].argument);
    when_equal(0, SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_USER_NOTIF);
    end_call(block);
  }
}

static int install(unsigned flags) {
  struct sock_fprog program = {(unsigned short)length, code};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
}

int install_network_filter(bool in_namespaces) {
  length = 0;
  emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
  answer(SECCOMP_RET_KILL_PROCESS);
  emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
#if defined(__x86_64__)
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1);
  refuse_with(ENOSYS);
#endif
  for (uint32_t number = nr_io_uring_setup; number < nr_io_uring_setup + 3; number++) {
    when_equal(number, SECCOMP_RET_ERRNO | ENOSYS);
  }
  when_equal(nr_clone3, SECCOMP_RET_ERRNO | ENOSYS);
  notify_always(SYS_connect);
  notify_always(SYS_bind);
  notify_always(SYS_listen);
  filter_sends();
  filter_new_sockets();
  filter_options();
  filter_hiding();
  if (!in_namespaces) filter_processes();
  answer(SECCOMP_RET_ALLOW);
  if (length >= max_instructions) {
    errno = E2BIG;
    return -1;
  }
  int listener = install(flag_wait_killable);
  return listener >= 0 || errno != EINVAL ? listener : install(0);
}

#endif
