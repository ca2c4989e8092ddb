/* Sends the program's messages, with the supervisor's own copies of socket, address and data. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "network.h"

/* A datagram is at most 64 KiB; a stream may send less than it was asked to. */
enum { max_data = 65536, max_vectors = 1024, max_messages = 64 };

bool is_internet(const struct kind *kind) { return kind->domain == AF_INET || kind->domain == AF_INET6; }
bool is_stream(const struct kind *kind) { return kind->type == SOCK_STREAM || kind->type == SOCK_SEQPACKET; }

bool is_blocking(int socket, int flags) {
  return (flags & MSG_DONTWAIT) == 0 && (fcntl(socket, F_GETFL) & O_NONBLOCK) == 0;
}

int read_target(pid_t pid, uint64_t at, uint64_t length, struct target *target) {
  memset(target, 0, sizeof *target);
  target->file = -1;
  if (length > sizeof target->address) return EINVAL;
  target->length = (socklen_t)length;
  if (!read_memory(pid, at, &target->address, (size_t)length)) return EFAULT;
  return length < sizeof(sa_family_t) ? EINVAL : 0;
}

int judge_target(pid_t pid, const struct kind *kind, struct target *target) {
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

/* Sends a message that is ready. Whole messages are first tried without waiting, which takes no other thread. */
static int64_t send_ready(int socket, const struct kind *kind, const struct msghdr *message, int flags) {
  ssize_t sent;
  flags = (flags & ~MSG_FASTOPEN) | MSG_NOSIGNAL;
  if (!is_blocking(socket, flags)) {
    sent = sendmsg(socket, message, flags);
    return sent < 0 ? -errno : sent;
  }
  if (kind->type != SOCK_STREAM) {
    sent = sendmsg(socket, message, flags | MSG_DONTWAIT);
    if (sent >= 0 || errno != EAGAIN) return sent < 0 ? -errno : sent;
  }
  if (!begin_blocking()) return -EAGAIN;
  sent = sendmsg(socket, message, flags);
  int error = errno;
  end_blocking();
  return sent < 0 ? -error : sent;
}

/* The data of a message; its length, or a negative errno. */
static int64_t read_data(pid_t pid, const struct kind *kind, const struct msghdr *theirs, char *data) {
  struct iovec parts[max_vectors];
  size_t length = 0;
  if (theirs->msg_iovlen > max_vectors) return -EMSGSIZE;
  if (!read_memory(pid, (uintptr_t)theirs->msg_iov, parts, theirs->msg_iovlen * sizeof *parts)) return -EFAULT;
  for (size_t at = 0; at < theirs->msg_iovlen; at++) {
    size_t part = parts[at].iov_len, room = max_data - length;
    if (part > room && kind->type != SOCK_STREAM) return -EMSGSIZE;
    if (part > room) part = room;
    if (!read_memory(pid, (uintptr_t)parts[at].iov_base, data + length, part)) return -EFAULT;
    length += part;
  }
  return (int64_t)length;
}

/* Judges the address and sends, once all parts of the message are copied. */
static int64_t judge_and_send(const struct seccomp_notif *asked, int socket, const struct kind *kind,
                              struct msghdr *message, struct target *target, int flags) {
  int error;
  if (!is_still_valid(asked->id)) return -EINTR;
  /* A stream ignores the address, so it is not passed on. */
  if (target->length > 0 && !is_stream(kind)) {
    if ((error = judge_target((pid_t)asked->pid, kind, target)) != 0) return -error;
    message->msg_name = &target->address;
    message->msg_namelen = target->length;
  }
  if (is_internet(kind) && kind->type == SOCK_DGRAM) remember_own_socket(socket);
  int64_t result = send_ready(socket, kind, message, flags);
  if (target->file >= 0) close(target->file);
  return result;
}

static int64_t send_message(const struct seccomp_notif *asked, int socket, const struct kind *kind,
                            const struct msghdr *theirs, int flags) {
  char data[max_data];
  struct control control = {.length = theirs->msg_controllen};
  struct target target = {.file = -1};
  pid_t pid = (pid_t)asked->pid;
  int error;
  if (theirs->msg_controllen > max_control) return -ENOBUFS;
  int64_t length = read_data(pid, kind, theirs, data);
  if (length < 0) return length;
  if (!read_memory(pid, (uintptr_t)theirs->msg_control, control.bytes, control.length)) return -EFAULT;
  bool has_name = theirs->msg_name != NULL && theirs->msg_namelen > 0;
  if (has_name && (error = read_target(pid, (uintptr_t)theirs->msg_name, theirs->msg_namelen, &target)) != 0) return -error;
  struct iovec own = {data, (size_t)length};
  struct msghdr message = {.msg_iov = &own, .msg_iovlen = 1};
  if (control.length > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = control.length;
  }
  error = translate_control(pid, kind->domain == AF_UNIX, &control);
  int64_t result = error != 0 ? -error : judge_and_send(asked, socket, kind, &message, &target, flags);
  close_rights(&control);
  return result;
}

int64_t make_sendto(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  const __u64 *args = asked->data.args;
  char data[max_data];
  struct iovec own = {data, args[2]};
  struct msghdr message = {.msg_iov = &own, .msg_iovlen = 1};
  struct target target = {.file = -1};
  pid_t pid = (pid_t)asked->pid;
  if (own.iov_len > max_data) {
    if (kind->type != SOCK_STREAM) return -EMSGSIZE;
    own.iov_len = max_data;
  }
  if (!read_memory(pid, args[1], data, own.iov_len)) return -EFAULT;
  int error = read_target(pid, args[4], args[5] & UINT32_MAX, &target);
  return error != 0 ? -error : judge_and_send(asked, socket, kind, &message, &target, (int)args[3]);
}

int64_t make_sendmsg(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  struct msghdr theirs;
  if (!read_memory((pid_t)asked->pid, asked->data.args[1], &theirs, sizeof theirs)) return -EFAULT;
  return send_message(asked, socket, kind, &theirs, (int)asked->data.args[2]);
}

int64_t make_sendmmsg(const struct seccomp_notif *asked, int socket, const struct kind *kind) {
  struct mmsghdr theirs;
  uint64_t at = asked->data.args[1];
  unsigned count = (unsigned)asked->data.args[2];
  int sent = 0;
  if (count > max_messages) count = max_messages;
  for (; (unsigned)sent < count; sent++, at += sizeof theirs) {
    if (!read_memory((pid_t)asked->pid, at, &theirs, sizeof theirs)) return sent > 0 ? sent : -EFAULT;
    int64_t one = send_message(asked, socket, kind, &theirs.msg_hdr, (int)asked->data.args[3]);
    if (one < 0) return sent > 0 ? sent : one;
    unsigned length = (unsigned)one;
    write_memory((pid_t)asked->pid, at + offsetof(struct mmsghdr, msg_len), &length, sizeof length);
  }
  return sent;
}
