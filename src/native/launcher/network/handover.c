/*
 * How the supervisor gets the filter's listener: the program installs the filter itself and cannot send a descriptor
 * any more, so it writes the listener's number, and a thread of the supervisor copies it. That thread then answers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "network.h"

enum { sys_pidfd_open = 434, sys_pidfd_getfd = 438, pidfd_thread = O_EXCL };

static const struct plan *plan;
static int line[2] = {-1, -1};
static int listener = -1;
/* Without pidfd_getfd; decided before the fork. */
static bool makes_sockets;
/* Gets the number of the listener's descriptor in the program. */
static int to_helper = -1;
static pid_t helper;
/* Who the program is; calls on its behalf are made as the same user. */
static struct ucred program;

const struct plan *network_plan(void) { return plan; }
int network_listener(void) { return listener; }
bool network_makes_sockets(void) { return makes_sockets; }

int copy_descriptor(pid_t pid, int number) {
  int process = (int)syscall(sys_pidfd_open, pid, pidfd_thread); /* since Linux 6.9 */
  if (process < 0 && errno == EINVAL) {
    struct process found;
    if (!read_process(pid, &found)) found.group = pid;
    process = (int)syscall(sys_pidfd_open, found.group, 0);
  }
  if (process < 0) return -1;
  int copy = (int)syscall(sys_pidfd_getfd, process, number, 0);
  int error = errno;
  close(process);
  errno = error;
  return copy;
}

/* Whether this host lets a process copy a descriptor of another. */
bool can_copy_descriptors(void) {
  int process = (int)syscall(sys_pidfd_open, getpid(), 0);
  int copy = process < 0 ? -1 : (int)syscall(sys_pidfd_getfd, process, process, 0);
  if (copy >= 0) close(copy);
  if (process >= 0) close(process);
  return copy >= 0;
}

/* Before the fork of the program. 0 or an errno. */
int prepare_network(const struct plan *of) {
  int yes = 1;
  plan = of;
  if (!plan->limits_network) return 0;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) return errno;
  makes_sockets = !can_copy_descriptors();
  return setsockopt(line[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 ? 0 : errno;
}

static void close_line(int end) {
  if (line[end] >= 0) close(line[end]);
  line[end] = -1;
}

void leave_network_to_program(void) {
  close_line(0);
  close_line(1);
}

static void send_descriptor(int number) {
  char control[CMSG_SPACE(sizeof number)] __attribute__((aligned(16))) = {0};
  struct iovec part = {&number, sizeof number};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof number), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(header), &number, sizeof number);
  ssize_t sent = sendmsg(line[1], &message, MSG_NOSIGNAL);
  (void)sent; /* the supervisor then waits in vain, and the program with it, until the line closes */
}

/*
 * In the program, before any filter: a process with the same descriptors, which can still send one when the program
 * has its filters. 0 or an errno.
 */
int prepare_handover(void) {
  int numbers[2], number;
  if (!plan->limits_network || !makes_sockets) return 0;
  if (pipe2(numbers, O_CLOEXEC) != 0) return errno;
  helper = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
  if (helper == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (read(numbers[0], &number, sizeof number) == sizeof number) send_descriptor(number);
    _exit(0);
  }
  to_helper = numbers[1];
  return helper < 0 ? errno : 0;
}

/* In the program, as its last step. 0 or an errno; the program must not run without it. */
int confine_network(bool in_namespaces) {
  char answered;
  if (!plan->limits_network) return 0;
  close_line(0);
  int own = install_network_filter(in_namespaces);
  if (own < 0) return errno;
  if (write(makes_sockets ? to_helper : line[1], &own, sizeof own) != sizeof own) return EPIPE;
  if (read(line[1], &answered, 1) != 1) return EPERM;
  if (makes_sockets) waitpid(helper, NULL, 0);
  close(own);
  close_line(1);
  return 0;
}

/* For the calling thread only: the program's user, and no capabilities, as the program has none. */
void become_like_program(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  if (program.uid != geteuid()) {
    syscall(SYS_setgroups, 0, NULL);
    syscall(SYS_setresgid, program.gid, program.gid, program.gid);
    syscall(SYS_setresuid, program.uid, program.uid, program.uid);
  }
  syscall(SYS_capset, &header, none);
}

/* Waits for the listener, or for its number in the program. False = the program has failed, and reports that itself. */
static bool receive_listener(int *number) {
  char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] __attribute__((aligned(16)));
  struct iovec part = {number, sizeof *number};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t got;
  program.pid = 0;
  while ((got = recvmsg(line[0], &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  struct cmsghdr *header = got == sizeof *number ? CMSG_FIRSTHDR(&message) : NULL;
  for (; header != NULL; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type == SCM_CREDENTIALS) memcpy(&program, CMSG_DATA(header), sizeof program);
    if (header->cmsg_type == SCM_RIGHTS && makes_sockets) memcpy(&listener, CMSG_DATA(header), sizeof listener);
  }
  return program.pid > 0;
}

/* A single thread takes the listener and answers: each further switch of threads would delay the program's start. */
static void *take_and_answer(void *unused) {
  (void)unused;
  int number;
  if (has_priority) setpriority(PRIO_PROCESS, 0, -20); /* threads do not inherit it */
  if (receive_listener(&number)) {
    become_like_program();
    if (!makes_sockets) listener = copy_descriptor(program.pid, number);
  }
  /* Closing without an answer tells the program that it must not run. */
  bool taken = listener >= 0 && fcntl(listener, F_SETFD, FD_CLOEXEC) == 0 && write(line[0], "", 1) == 1;
  close_line(0);
  if (has_priority) setpriority(PRIO_PROCESS, 0, 0);
  if (taken) answer_calls();
  return NULL;
}

static pthread_t taker;
static bool has_taker;

void take_network(void) {
  if (!plan->limits_network) return;
  close_line(1);
  has_taker = start_answering_thread(take_and_answer, &taker);
  if (!has_taker) close_line(0);
}

void abandon_network(void) {
  if (has_taker) pthread_join(taker, NULL);
  has_taker = false;
}
