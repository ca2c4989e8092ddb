/* Raw sockets from the helper (src/native/raw-socket), which may have the capability that this process lacks. */
#define _GNU_SOURCE
#include "raw_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The helper makes only two system calls, so only a stalled machine takes longer. */
enum { ANSWER_MS = 2000, PARENT = 3 };

/* Receives the socket, or the errno of the failure as a negative number. */
static int receive(int from) {
  struct pollfd ready = {.fd = from, .events = POLLIN};
  int polled;
  do polled = poll(&ready, 1, ANSWER_MS);
  while (polled < 0 && errno == EINTR);
  if (polled <= 0) return polled == 0 ? -ETIMEDOUT : -errno;
  int error = 0, fd = -1;
  struct iovec content = {&error, sizeof error};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof fd)];
  } control;
  struct msghdr message = {
      .msg_iov = &content,
      .msg_iovlen = 1,
      .msg_control = &control,
      .msg_controllen = sizeof control,
  };
  if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof error) return -EIO;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof fd)) {
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
  }
  if (fd >= 0) return fd;
  return error > 0 ? -error : -EIO;
}

static int start(const char *file, const char *kind, int end, pid_t *pid) {
  char *arguments[] = {(char *)"raw-socket", (char *)kind, NULL};
  char *environment[] = {NULL};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  int error = posix_spawn_file_actions_adddup2(&actions, end, PARENT);
  for (int fd = 0; fd < 3 && error == 0; fd++) {
    error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  }
  if (error == 0) error = posix_spawn(pid, file, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int open_by_helper(const char *file, int family) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -errno;
  const char *kind = family == AF_PACKET ? "packets" : family == AF_INET ? "4" : "6";
  pid_t pid;
  int error = start(file, kind, ends[1], &pid);
  close(ends[1]);
  int result = -error;
  if (error == 0) {
    result = receive(ends[0]);
    if (result < 0) kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  close(ends[0]);
  return result;
}
