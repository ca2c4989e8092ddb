/*
 * Answers to the probes of a trace: a finished handshake, a datagram, or a router's error from the socket's error
 * queue.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "trace.h"

uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* onAnswer(index, kind, errno, type, code, from, rttMs) */
void deliver(trace *owner, int index, int kind, int error, int type, int code, const char *from, double rtt) {
  napi_env env = owner->env;
  napi_handle_scope scope;
  napi_open_handle_scope(env, &scope);
  napi_value arguments[7] = {
      int_value(env, index), int_value(env, kind), int_value(env, error), int_value(env, type), int_value(env, code),
  };
  napi_create_string_utf8(env, from, NAPI_AUTO_LENGTH, &arguments[5]);
  napi_create_double(env, rtt, &arguments[6]);
  napi_value function, global, result;
  if (napi_get_reference_value(env, owner->on_answer, &function) == napi_ok &&
      napi_get_global(env, &global) == napi_ok &&
      napi_make_callback(env, owner->context, global, function, 7, arguments, &result) == napi_pending_exception) {
    napi_value exception;
    if (napi_get_and_clear_last_exception(env, &exception) == napi_ok) napi_fatal_exception(env, exception);
  }
  napi_close_handle_scope(env, scope);
}

static void report(probe *one, int kind, int error, int type, int code, const char *from, double rtt) {
  trace *owner = one->owner;
  int index = (int)(one - owner->probes);
  close_probe(one);
  if (!owner->in_round) {
    deliver(owner, index, kind, error, type, code, from, rtt);
    return;
  }
  round_answer answer = {.kind = kind, .type = type, .code = code, .rtt = rtt};
  strncpy(answer.from, from, FROM_MAX - 1);
  take_round_answer(owner, &answer, error);
}

/*
 * Reads the error queue of a socket: the router's address as text, type and code of its ICMP message. Returns false
 * if the queue holds no such message. `waited_ns`: how long the message was in the queue, if the kernel provides a
 * timestamp. A late message about an earlier probe of the flow is dropped if it quotes enough of that probe.
 */
static bool read_error(const probe *one, char *from, size_t from_size, int *type, int *code, uint64_t *waited_ns,
                       bool *is_late) {
  for (int tries = 0; tries < 4; tries++) {
    uint8_t packet[256];
    union {
      struct cmsghdr header;
      uint8_t bytes[512];
    } control;
    struct sockaddr_storage target;
    struct iovec vector = {packet, sizeof packet};
    struct msghdr message = {
        .msg_name = &target,
        .msg_namelen = sizeof target,
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t quoted = recvmsg(one->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (quoted < 0) return false;
    struct sock_extended_err *error = NULL;
    *waited_ns = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
      if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
          (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) {
        error = (struct sock_extended_err *)CMSG_DATA(c);
      } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
        uint64_t arrived = (uint64_t)stamp.tv_sec * 1000000000u + (uint64_t)stamp.tv_nsec;
        uint64_t wall = clock_ns(CLOCK_REALTIME);
        if (wall > arrived) *waited_ns = wall - arrived;
      }
    }
    if (error == NULL || (error->ee_origin != SO_EE_ORIGIN_ICMP && error->ee_origin != SO_EE_ORIGIN_ICMP6)) continue;
    if (one->owner->source_port != 0 && !one->owner->tcp && quoted >= MARK) {
      uint8_t mark[MARK];
      write_mark(one, mark);
      if (memcmp(packet, mark, MARK) != 0) {
        *is_late = true;
        continue;
      }
    }
    const struct sockaddr *offender = SO_EE_OFFENDER(error);
    *type = error->ee_type;
    *code = error->ee_code;
    from[0] = '\0';
    if (offender->sa_family == AF_INET) {
      inet_ntop(AF_INET, &((const struct sockaddr_in *)offender)->sin_addr, from, (socklen_t)from_size);
    } else if (offender->sa_family == AF_INET6) {
      inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)offender)->sin6_addr, from, (socklen_t)from_size);
    }
    return true;
  }
  return false;
}

void on_probe_ready(uv_poll_t *poll, int status, int events) {
  (void)events;
  probe *one = (probe *)poll;
  trace *owner = one->owner;
  uint64_t since = clock_ns(CLOCK_MONOTONIC) - one->sent_ns;
  double rtt = (double)since / 1e6;
  char from[INET6_ADDRSTRLEN];
  int type, code;
  uint64_t waited;
  bool is_late = false;
  if (read_error(one, from, sizeof from, &type, &code, &waited, &is_late)) {
    /* The kernel's timestamp uses the wall clock, which may be set: only a plausible waiting time is taken from it. */
    if (waited < since) rtt = (double)(since - waited) / 1e6;
    report(one, ROUTER_ANSWERED, 0, type, code, from, rtt);
    return;
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(one->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (is_late) {
    uint8_t byte;
    if (recv(one->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
      /* libuv treats a non-empty error queue as a broken descriptor and stops. Emptied, the socket works again. */
      if (status >= 0 || uv_poll_start(&one->poll, UV_READABLE, on_probe_ready) == 0) {
        uv_unref((uv_handle_t *)&one->poll);
        return;
      }
    }
    error = 0;
  }
  if (owner->tcp && error == 0) {
    struct tcp_info info;
    size = sizeof info;
    /* The handshake as measured by the kernel, so that a busy process does not distort it. */
    if (getsockopt(one->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_rtt > 0) {
      double kernels = (double)info.tcpi_rtt / 1e3;
      if (kernels < rtt) rtt = kernels;
    }
  }
  report(one, error == 0 || error == ECONNREFUSED || error == ECONNRESET ? TARGET_ANSWERED : FAILED_HERE, error, -1, -1,
         "", rtt);
}
