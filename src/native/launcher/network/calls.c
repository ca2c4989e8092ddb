/* The program's calls, made by the supervisor with its own copies of socket and address. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "network.h"

static bool read_kind(int socket, struct kind *kind) {
  socklen_t length = sizeof kind->domain;
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &kind->domain, &length) != 0) return false;
  length = sizeof kind->type;
  return getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind->type, &length) == 0;
}

static int64_t connect_now(int socket, const struct target *target) {
  return connect(socket, (const struct sockaddr *)&target->address, target->length) == 0 ? 0 : -errno;
}

static int64_t make_connect(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  struct target target;
  pid_t pid = (pid_t)asked->pid;
  int error = read_target(pid, asked->data.args[1], asked->data.args[2] & UINT32_MAX, &target);
  if (error != 0) return -error;
  if (!is_still_valid(asked->id)) return -EINTR;
  /* AF_UNSPEC ends the association of a socket. */
  bool ends = is_internet(kind) && target.address.ss_family == AF_UNSPEC;
  if (!ends && (error = judge_target(pid, kind, &target)) != 0) return -error;
  if (kind->type == SOCK_DGRAM) remember_own_socket(socket); /* it gets a port now */
  bool waits = is_stream(kind) && is_blocking(socket, 0);
  int64_t result = -EAGAIN;
  if (!waits || begin_blocking()) {
    result = connect_now(socket, &target);
    if (waits) end_blocking();
  }
  if (target.file >= 0) close(target.file);
  if (network_makes_sockets() && is_stream(kind) && (result == 0 || result == -EINPROGRESS)) drop_stream(socket);
  return result;
}

static bool is_message(const struct seccomp_notif *asked) {
  return asked->data.nr == SYS_sendmsg || asked->data.nr == SYS_sendmmsg;
}

bool may_continue(const struct seccomp_notif *asked, int socket) {
  if (asked->data.nr == SYS_bind || asked->data.nr == SYS_listen) {
    remember_own_socket(socket);
    if (network_makes_sockets() && asked->data.nr == SYS_bind) sweep_sockets();
    if (network_makes_sockets() && asked->data.nr == SYS_listen) drop_stream(socket);
    return true;
  }
  struct kind kind;
  if (!is_message(asked) || !network_plan()->programs || !read_kind(socket, &kind) || !is_stream(&kind)) return false;
  /*
   * A stream takes no address, and browsers pass credentials, which only the sender itself can do. But another thread
   * could put a socket for datagrams in the stream's place. No other process has the same descriptors.
   */
  return network_makes_sockets() || is_single_threaded((pid_t)asked->pid);
}

bool may_continue_alone(const struct seccomp_notif *asked) {
  if (asked->data.nr == SYS_bind || asked->data.nr == SYS_listen) return true;
  return is_message(asked) && network_plan()->programs;
}

int64_t make_call(const struct seccomp_notif *asked, int socket) {
  struct kind kind;
  if (!read_kind(socket, &kind)) return -errno;
  switch (asked->data.nr) {
    case SYS_connect:
      return make_connect(asked, socket, &kind);
    case SYS_sendto:
      return make_sendto(asked, socket, &kind);
    case SYS_sendmsg:
      return make_sendmsg(asked, socket, &kind);
    case SYS_sendmmsg:
      return make_sendmmsg(asked, socket, &kind);
    default:
      return -ENOSYS;
  }
}
