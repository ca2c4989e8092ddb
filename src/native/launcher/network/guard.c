/*
 * The threads of the supervisor that answer the program's calls, and how they get the filter's listener: the program
 * installs the filter itself and cannot send a descriptor any more, so it writes the listener's number, and the
 * supervisor copies it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "network.h"

enum { sys_pidfd_open = 434, sys_pidfd_getfd = 438, pidfd_thread = O_EXCL, max_threads = 64, stack_bytes = 512 * 1024 };

static const struct plan *plan;
static int line[2] = {-1, -1};
static int listener = -1;
/* Without pidfd_getfd; decided before the fork. */
static bool makes_sockets;
/* Gets the number of the listener's descriptor in the program; -1 = there is no helper. */
static int to_helper = -1;
static pid_t helper;
static atomic_int threads, idle;
/* Who the program is; calls on its behalf are made as the same user. */
static struct ucred program;

const struct plan *network_plan(void) { return plan; }
int network_listener(void) { return listener; }
bool network_makes_sockets(void) { return makes_sockets; }

/* A copy of a process's descriptor, or -1 and errno. `pid` may be any of its threads. */
static int copy_descriptor(pid_t pid, int number) {
  int process = (int)syscall(sys_pidfd_open, pid, pidfd_thread); /* since Linux 6.9 */
  if (process < 0 && errno == EINVAL) {
    char path[64], text[512];
    int group = pid;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    int status = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = status < 0 ? -1 : read(status, text, sizeof text - 1);
    if (status >= 0) close(status);
    if (length > 0) {
      text[length] = '\0';
      const char *found = strstr(text, "\nTgid:");
      if (found == NULL || sscanf(found, "\nTgid: %d", &group) != 1) group = pid;
    }
    process = (int)syscall(sys_pidfd_open, group, 0);
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
int confine_network(void) {
  char answered;
  if (!plan->limits_network) return 0;
  close_line(0);
  int own = install_network_filter();
  if (own < 0) return errno;
  if (write(makes_sockets ? to_helper : line[1], &own, sizeof own) != sizeof own) return EPIPE;
  if (read(line[1], &answered, 1) != 1) return EPERM;
  if (makes_sockets) waitpid(helper, NULL, 0);
  close(own);
  close_line(1);
  return 0;
}

/* For the calling thread only: the program's user, and no capabilities, as the program has none. */
static void become_like_program(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  if (program.uid != geteuid()) {
    syscall(SYS_setgroups, 0, NULL);
    syscall(SYS_setresgid, program.gid, program.gid, program.gid);
    syscall(SYS_setresuid, program.uid, program.uid, program.uid);
  }
  syscall(SYS_capset, &header, none);
}

static void *copy_listener(void *number) {
  become_like_program();
  listener = copy_descriptor(program.pid, *(int *)number);
  return NULL;
}

/* In the supervisor: waits until the program has its filter. False = it has failed, and reports that itself. */
bool take_network(void) {
  if (!plan->limits_network) return true;
  close_line(1);
  int number;
  char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] __attribute__((aligned(16)));
  struct iovec part = {&number, sizeof number};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t got;
  while ((got = recvmsg(line[0], &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  struct cmsghdr *header = got == sizeof number ? CMSG_FIRSTHDR(&message) : NULL;
  for (; header != NULL; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type == SCM_CREDENTIALS) memcpy(&program, CMSG_DATA(header), sizeof program);
    if (header->cmsg_type == SCM_RIGHTS && makes_sockets) memcpy(&listener, CMSG_DATA(header), sizeof listener);
  }
  if (program.pid > 0 && !makes_sockets) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, copy_listener, &number) == 0) pthread_join(thread, NULL);
  }
  if (listener >= 0) fcntl(listener, F_SETFD, FD_CLOEXEC);
  /* Closing without an answer tells the program that it must not run. */
  bool taken = listener >= 0 && write(line[0], "", 1) == 1;
  close_line(0);
  return taken;
}

bool is_still_valid(uint64_t id) { return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0; }

static int error_of_missing_socket(int error) {
  return error == EBADF || error == ENOTSOCK || error == EISCONN ? -error : -EACCES;
}

static void answer(const struct seccomp_notif *asked) {
  struct seccomp_notif_resp response = {.id = asked->id};
  if (asked->data.nr == SYS_socket) {
    int64_t made = make_socket(asked);
    if (made < 0) response.error = (int)made;
    else response.val = made;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    return;
  }
  int number = (int)asked->data.args[0];
  pid_t pid = (pid_t)asked->pid;
  int socket = makes_sockets ? kept_socket(pid, number) : copy_descriptor(pid, number);
  if (socket < 0 && makes_sockets && errno == EISCONN && may_continue_alone(asked)) {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else if (socket < 0) {
    response.error = error_of_missing_socket(errno);
  } else if (!is_still_valid(asked->id)) {
    response.error = -EINTR; /* nobody waits for it */
  } else if (may_continue(asked, socket)) {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    int64_t result = make_call(asked, socket);
    if (result < 0) response.error = (int)result;
    else response.val = result;
  }
  if (socket >= 0) close(socket);
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void *answer_calls(void *unused) {
  (void)unused;
  become_like_program();
  for (;;) {
    struct seccomp_notif asked;
    memset(&asked, 0, sizeof asked);
    atomic_fetch_add(&idle, 1);
    int received = ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked);
    atomic_fetch_sub(&idle, 1);
    if (received == 0) answer(&asked);
    else if (errno != EINTR && errno != ENOENT) return NULL; /* the listener is broken; calls get ENOSYS */
  }
}

static bool add_thread(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  if (atomic_fetch_add(&threads, 1) >= max_threads) {
    atomic_fetch_sub(&threads, 1);
    return false;
  }
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  bool added = pthread_create(&thread, &attributes, answer_calls, NULL) == 0;
  pthread_attr_destroy(&attributes);
  if (!added) atomic_fetch_sub(&threads, 1);
  return added;
}

void keep_answering(void) {
  if (atomic_load(&idle) == 0) add_thread();
}

bool guard_network(void) { return !plan->limits_network || (add_thread() && add_thread()); }
