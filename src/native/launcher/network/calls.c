/* The program's calls, made by the supervisor with its own copies of socket, address and data. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "network.h"

/* A datagram is at most 64 KiB; a stream may send less than it was asked to. */
enum { max_data = 65536, max_vectors = 1024, max_control = 1024, max_messages = 64 };

struct kind {
  int domain, type;
};

static bool read_kind(int socket, struct kind *kind) {
  socklen_t length = sizeof kind->domain;
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &kind->domain, &length) != 0) return false;
  length = sizeof kind->type;
  return getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind->type, &length) == 0;
}

static bool is_internet(const struct kind *kind) { return kind->domain == AF_INET || kind->domain == AF_INET6; }

/* An address of the program, copied and judged. `file` is a descriptor to close afterwards, or -1. */
struct target {
  struct sockaddr_storage address;
  socklen_t length;
  int file;
};

static int read_target(pid_t pid, uint64_t at, uint64_t length, struct target *target) {
  memset(target, 0, sizeof *target);
  target->file = -1;
  if (length > sizeof target->address) return EINVAL;
  target->length = (socklen_t)length;
  if (!read_memory(pid, at, &target->address, (size_t)length)) return EFAULT;
  return length < sizeof(sa_family_t) ? EINVAL : 0;
}

/* 0 or an errno. The address of an AF_UNIX target is replaced by one that the program cannot change. */
static int judge_target(pid_t pid, const struct kind *kind, struct target *target) {
  struct destination destination;
  if (is_internet(kind)) {
    if (!read_destination(&target->address, target->length, kind->type == SOCK_STREAM, &destination)) return EAFNOSUPPORT;
    return judge(&destination);
  }
  if (kind->domain == AF_NETLINK) return target->address.ss_family == AF_NETLINK ? 0 : EINVAL;
  if (kind->domain != AF_UNIX || target->address.ss_family != AF_UNIX) return EINVAL;
  struct sockaddr_un asked = {0}, opened;
  if (target->length > sizeof asked) return EINVAL;
  memcpy(&asked, &target->address, target->length);
  target->file = open_socket_file(pid, &asked, target->length, &opened);
  if (target->file < 0) return -target->file;
  memcpy(&target->address, &opened, sizeof opened);
  target->length = sizeof opened;
  return 0;
}

static int64_t result_of(ssize_t result) { return result < 0 ? -errno : result; }

static int64_t make_connect(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  struct target target;
  pid_t pid = (pid_t)asked->pid;
  int error = read_target(pid, asked->data.args[1], asked->data.args[2] & UINT32_MAX, &target);
  if (error != 0) return -error;
  if (!is_still_valid(asked->id)) return -EINTR;
  /* AF_UNSPEC ends the association of a socket. */
  bool ends = is_internet(kind) && target.address.ss_family == AF_UNSPEC;
  if (!ends && (error = judge_target(pid, kind, &target)) != 0) {
    return -error;
  }
  if (kind->type == SOCK_DGRAM) remember_own_socket(socket); /* it gets a port now */
  keep_answering();
  int64_t result = result_of(connect(socket, (struct sockaddr *)&target.address, target.length));
  if (target.file >= 0) close(target.file);
  bool is_stream = kind->type == SOCK_STREAM || kind->type == SOCK_SEQPACKET;
  if (network_makes_sockets() && is_stream && (result == 0 || result == -EINPROGRESS)) drop_stream(socket);
  return result;
}

/* Descriptors and credentials do not pass; neither do the source routes of IP. */
static bool is_passed_on(const struct cmsghdr *header) {
  switch (header->cmsg_level) {
    case IPPROTO_IP:
      return header->cmsg_type == IP_TOS || header->cmsg_type == IP_TTL || header->cmsg_type == IP_PKTINFO;
    case IPPROTO_IPV6:
      return header->cmsg_type == IPV6_TCLASS || header->cmsg_type == IPV6_HOPLIMIT || header->cmsg_type == IPV6_PKTINFO;
    case IPPROTO_UDP:
      return header->cmsg_type == 103 /* UDP_SEGMENT */;
    default:
      return false;
  }
}

/* Sends one message of the program. `at` is its msghdr. */
static int64_t send_message(pid_t pid, uint64_t id, int socket, const struct kind *kind, const struct msghdr *theirs,
                            int flags) {
  static __thread char data[max_data];
  static __thread char control[max_control] __attribute__((aligned(16)));
  static __thread struct iovec parts[max_vectors];
  struct target target = {.file = -1};
  int error;
  size_t length = 0;
  if (theirs->msg_iovlen > max_vectors) return -EMSGSIZE;
  if (theirs->msg_controllen > max_control) return -ENOBUFS;
  if (!read_memory(pid, (uintptr_t)theirs->msg_iov, parts, theirs->msg_iovlen * sizeof *parts)) return -EFAULT;
  for (size_t at = 0; at < theirs->msg_iovlen; at++) {
    size_t part = parts[at].iov_len, room = max_data - length;
    if (part > room && kind->type != SOCK_STREAM) return -EMSGSIZE;
    if (part > room) part = room;
    if (!read_memory(pid, (uintptr_t)parts[at].iov_base, data + length, part)) return -EFAULT;
    length += part;
  }
  if (!read_memory(pid, (uintptr_t)theirs->msg_control, control, theirs->msg_controllen)) return -EFAULT;
  struct iovec own = {data, length};
  struct msghdr message = {.msg_iov = &own, .msg_iovlen = 1};
  if (theirs->msg_controllen > 0) {
    message.msg_control = control;
    message.msg_controllen = theirs->msg_controllen;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
      if (!is_passed_on(header)) return -EPERM;
    }
  }
  bool has_name = theirs->msg_name != NULL && theirs->msg_namelen > 0;
  if (has_name && (error = read_target(pid, (uintptr_t)theirs->msg_name, theirs->msg_namelen, &target)) != 0) return -error;
  if (!is_still_valid(id)) return -EINTR;
  /* A stream ignores the address, so it is not passed on. */
  bool is_used = has_name && kind->type != SOCK_STREAM && kind->type != SOCK_SEQPACKET;
  if (is_used) {
    if ((error = judge_target(pid, kind, &target)) != 0) return -error;
    message.msg_name = &target.address;
    message.msg_namelen = target.length;
  }
  if (is_internet(kind) && kind->type == SOCK_DGRAM) remember_own_socket(socket);
  keep_answering();
  int64_t result = result_of(sendmsg(socket, &message, (flags & ~MSG_FASTOPEN) | MSG_NOSIGNAL));
  if (target.file >= 0) close(target.file);
  return result;
}

static int64_t make_sendto(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  const __u64 *args = asked->data.args;
  struct iovec whole = {(void *)(uintptr_t)args[1], args[2]};
  static __thread char data[max_data];
  struct target target = {.file = -1};
  pid_t pid = (pid_t)asked->pid;
  if (whole.iov_len > max_data) {
    if (kind->type != SOCK_STREAM) return -EMSGSIZE;
    whole.iov_len = max_data;
  }
  if (!read_memory(pid, args[1], data, whole.iov_len)) return -EFAULT;
  int error = read_target(pid, args[4], args[5] & UINT32_MAX, &target);
  if (error != 0) return -error;
  if (!is_still_valid(asked->id)) return -EINTR;
  bool is_used = kind->type != SOCK_STREAM && kind->type != SOCK_SEQPACKET;
  if (is_used && (error = judge_target(pid, kind, &target)) != 0) return -error;
  if (is_internet(kind) && kind->type == SOCK_DGRAM) remember_own_socket(socket);
  keep_answering();
  int64_t result = result_of(sendto(socket, data, whole.iov_len, ((int)args[3] & ~MSG_FASTOPEN) | MSG_NOSIGNAL,
                                    is_used ? (struct sockaddr *)&target.address : NULL, is_used ? target.length : 0));
  if (target.file >= 0) close(target.file);
  return result;
}

static int64_t make_sendmsg(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  struct msghdr theirs;
  if (!read_memory((pid_t)asked->pid, asked->data.args[1], &theirs, sizeof theirs)) return -EFAULT;
  return send_message((pid_t)asked->pid, asked->id, socket, kind, &theirs, (int)asked->data.args[2]);
}

static int64_t make_sendmmsg(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  struct mmsghdr theirs;
  uint64_t at = asked->data.args[1];
  unsigned count = (unsigned)asked->data.args[2];
  int sent = 0;
  if (count > max_messages) count = max_messages;
  for (; (unsigned)sent < count; sent++, at += sizeof theirs) {
    if (!read_memory((pid_t)asked->pid, at, &theirs, sizeof theirs)) return sent > 0 ? sent : -EFAULT;
    int64_t one = send_message((pid_t)asked->pid, asked->id, socket, kind, &theirs.msg_hdr, (int)asked->data.args[3]);
    if (one < 0) return sent > 0 ? sent : one;
    unsigned length = (unsigned)one;
    write_memory((pid_t)asked->pid, at + offsetof(struct mmsghdr, msg_len), &length, sizeof length);
  }
  return sent;
}

bool may_continue(const struct seccomp_notif *asked, int socket) {
  if (asked->data.nr == SYS_bind || asked->data.nr == SYS_listen) {
    remember_own_socket(socket);
    if (network_makes_sockets() && asked->data.nr == SYS_bind) sweep_sockets();
    if (network_makes_sockets() && asked->data.nr == SYS_listen) drop_stream(socket);
    return true;
  }
  struct kind kind;
  if ((asked->data.nr != SYS_sendmsg && asked->data.nr != SYS_sendmmsg) || !network_plan()->programs) return false;
  /* Browsers pass descriptors and credentials here, which only the sender itself can do. Such sockets take no address. */
  return read_kind(socket, &kind) && (kind.type == SOCK_STREAM || kind.type == SOCK_SEQPACKET);
}

bool may_continue_alone(const struct seccomp_notif *asked) {
  if (asked->data.nr == SYS_bind || asked->data.nr == SYS_listen) return true;
  return (asked->data.nr == SYS_sendmsg || asked->data.nr == SYS_sendmmsg) && network_plan()->programs;
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
