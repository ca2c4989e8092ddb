/*
 * A handwritten seccomp filter: no access to other processes (ptrace, process_vm, pidfd), no kernel interfaces that
 * neither Node nor a browser needs, no signals to the agent. Signals are filtered only by process id; Landlock 6 or a
 * process namespace, if available, blocks the rest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef OWN_ARCHITECTURE

bool filter_supported(void) { return false; }
int install_filter(const struct plan *plan, bool in_namespaces, pid_t own) {
  (void)plan, (void)in_namespaces, (void)own;
  return ENOSYS;
}

#else

/* Numbers that are the same on every architecture since 2019, because headers may be older than the kernel. */
enum {
  nr_pidfd_send_signal = 424,
  nr_io_uring_setup = 425,
  nr_io_uring_enter = 426,
  nr_io_uring_register = 427,
  nr_open_tree = 428,
  nr_move_mount = 429,
  nr_fsopen = 430,
  nr_fsconfig = 431,
  nr_fsmount = 432,
  nr_fspick = 433,
  nr_pidfd_open = 434,
  nr_clone3 = 435,
  nr_pidfd_getfd = 438,
  nr_process_madvise = 440,
  nr_mount_setattr = 442,
  nr_quotactl_fd = 443,
  nr_process_mrelease = 448,
  nr_open_tree_attr = 467,
};

static const int denied[] = {
    /* other processes */
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, nr_pidfd_getfd, nr_pidfd_send_signal,
    nr_process_madvise, nr_process_mrelease, SYS_migrate_pages, SYS_move_pages, SYS_perf_event_open,
    /* the kernel */
    SYS_bpf, SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    SYS_reboot, SYS_syslog, SYS_acct, SYS_swapon, SYS_swapoff, SYS_quotactl, nr_quotactl_fd, SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm,
#endif
#ifdef SYS_modify_ldt
    SYS_modify_ldt,
#endif
    SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname,
    /* keys */
    SYS_add_key, SYS_request_key, SYS_keyctl,
    /* file systems */
    SYS_mount, SYS_umount2, SYS_pivot_root, nr_open_tree, nr_open_tree_attr, nr_move_mount, nr_fsopen, nr_fsconfig,
    nr_fsmount, nr_fspick, nr_mount_setattr, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init, SYS_setns};

/* Programs that have a fallback get ENOSYS, as from an older kernel. */
static const int unknown[] = {nr_io_uring_setup, nr_io_uring_enter, nr_io_uring_register, nr_clone3};

enum { max_instructions = 4000 };
static struct sock_filter code[max_instructions];
static size_t length;

void emit(uint16_t operation, uint32_t value, uint8_t when_true, uint8_t when_false) {
  if (length < max_instructions) {
    code[length++] = (struct sock_filter){operation, when_true, when_false, value};
  }
}

static void answer(uint32_t what) { emit(BPF_RET | BPF_K, what, 0, 0); }
void refuse_with(int error) { answer(SECCOMP_RET_ERRNO | (uint32_t)error); }
static void load(size_t offset) { emit(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
void load_number(void) { load(offsetof(struct seccomp_data, nr)); }
void load_argument(int index) { load(offsetof(struct seccomp_data, args) + (size_t)index * 8); }

void refuse_if_equal(uint32_t value, int error) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
  refuse_with(error);
}

size_t begin_block(int number) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 1, 0);
  emit(BPF_JMP | BPF_JA, 0, 0, 0); /* conditional jumps reach only 255 instructions */
  return length - 1;
}

void end_block(size_t block) {
  answer(SECCOMP_RET_ALLOW);
  code[block].k = (uint32_t)(length - block - 1);
}

static void refuse_protected(const struct plan *plan) {
  for (size_t at = 0; at < plan->protected_count; at++) refuse_if_equal((uint32_t)plan->protected[at], EPERM);
}

/*
 * Signals: a program without children may signal only itself; others anything except all processes at once and the
 * protected ones.
 */
static void filter_signals(const struct plan *plan, bool in_namespaces, pid_t own) {
  const int calls[] = {SYS_kill, SYS_tgkill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, nr_pidfd_open};
  for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
    size_t block = begin_block(calls[at]);
    load_argument(0);
    if (!plan->programs) {
      emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)own, 1, 0);
      refuse_with(EPERM);
    } else if (!in_namespaces) {
      refuse_if_equal((uint32_t)-1, EPERM);
      refuse_protected(plan);
    }
    end_block(block);
  }
  /* The owner of a descriptor gets a signal that the setter chooses, which is another way to kill. */
  size_t block = begin_block(SYS_fcntl);
  load_argument(1);
  for (const uint32_t *command = (const uint32_t[]){8 /* F_SETOWN */, 10 /* F_SETSIG */, 15 /* F_SETOWN_EX */, 0};
       *command != 0; command++) {
    refuse_if_equal(*command, EPERM);
  }
  end_block(block);
  block = begin_block(SYS_ioctl);
  load_argument(1);
  for (const uint32_t *command = (const uint32_t[]){0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */, 0x8901 /* FIOSETOWN */,
                                                    0x8902 /* SIOCSPGRP */, 0};
       *command != 0; command++) {
    refuse_if_equal(*command, EPERM);
  }
  end_block(block);
}

/* Limits and priorities of other processes of the same user. */
static void filter_priorities(const struct plan *plan, bool in_namespaces) {
  const int calls[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
                       SYS_sched_setattr};
  for (size_t at = 0; !in_namespaces && at < sizeof calls / sizeof *calls; at++) {
    size_t block = begin_block(calls[at]);
    load_argument(0);
    refuse_protected(plan);
    end_block(block);
  }
  const int by_kind[] = {SYS_setpriority, SYS_ioprio_set};
  for (size_t at = 0; at < 2; at++) {
    size_t block = begin_block(by_kind[at]);
    load_argument(0);
    /* PRIO_USER is 2, IOPRIO_WHO_USER 3: all processes of the user, including the agent. */
    refuse_if_equal(at == 0 ? 2 : 3, EPERM);
    load_argument(1);
    if (!in_namespaces) refuse_protected(plan);
    end_block(block);
  }
}

int install_filter(const struct plan *plan, bool in_namespaces, pid_t own) {
  length = 0;
  load(offsetof(struct seccomp_data, arch));
  emit(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0);
  answer(SECCOMP_RET_KILL_PROCESS);
  load_number();
#if defined(__x86_64__)
  /* The x32 interface: the same calls under other numbers. */
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1);
  refuse_with(ENOSYS);
#endif
  for (size_t at = 0; at < sizeof denied / sizeof *denied; at++) refuse_if_equal((uint32_t)denied[at], EPERM);
  for (size_t at = 0; at < sizeof unknown / sizeof *unknown; at++) refuse_if_equal((uint32_t)unknown[at], ENOSYS);
  filter_signals(plan, in_namespaces, own);
  filter_priorities(plan, in_namespaces);
  filter_new_processes(plan);
  filter_modes(plan, in_namespaces);
  filter_sockets(plan);
  answer(SECCOMP_RET_ALLOW);
  if (length >= max_instructions) return E2BIG;
  struct sock_fprog program = {(unsigned short)length, code};
  /* prctl works on every kernel that has filters; no_new_privs is already set. */
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}

bool filter_supported(void) { return true; }

#endif
