/*
 * Traces: probes with few hops to live, and what comes back for each: the unprivileged way.
 *
 * Every probe is a socket of its own, so whatever arrives at it is the answer to that probe. A TCP probe is the SYN of a
 * connection that is given up as soon as it is answered (Linux 5.8 and later tell an ordinary user which router dropped it);
 * a UDP probe is one datagram. Errors of routers are read from the socket's error queue.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "addon.h"
#include "echo_socket.h"

enum { PROBES_MAX = 128, QUESTION_MAX = 64 };

/* What became of a probe. */
enum { ROUTER_ANSWERED = 0, TARGET_ANSWERED = 1, FAILED_HERE = 2 };

typedef struct trace trace;

typedef struct {
  uv_poll_t poll; /* first: a handle's address is its probe's */
  trace *owner;
  int fd;
  bool used; /* once: an index is not free again */
  bool open;
  uint64_t sent_ns; /* CLOCK_MONOTONIC */
} probe;

struct trace {
  int family;
  bool tcp;
  struct sockaddr_storage target;
  socklen_t target_length;
  uint8_t question[QUESTION_MAX]; /* what a UDP probe carries */
  size_t question_length;
  bool closing;
  bool hooked;
  int references; /* JavaScript's, and one of each open probe */
  int open_probes;
  napi_env env;
  napi_ref on_answer;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  probe probes[PROBES_MAX];
};

static uint64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void release(trace *owner) {
  if (--owner->references == 0) free(owner);
}

static void unhook(trace *owner) {
  if (!owner->hooked || owner->open_probes > 0) return;
  owner->hooked = false;
  napi_remove_async_cleanup_hook(owner->cleanup);
}

static void on_closed(uv_handle_t *handle) {
  probe *one = (probe *)handle;
  trace *owner = one->owner;
  close(one->fd);
  owner->open_probes--;
  if (owner->closing) unhook(owner);
  release(owner);
}

static void close_probe(probe *one) {
  if (!one->open) return;
  one->open = false;
  uv_poll_stop(&one->poll);
  uv_close((uv_handle_t *)&one->poll, on_closed);
}

static void close_trace(trace *owner) {
  if (owner->closing) return;
  owner->closing = true;
  for (int i = 0; i < PROBES_MAX; i++) close_probe(&owner->probes[i]);
  napi_delete_reference(owner->env, owner->on_answer);
  napi_async_destroy(owner->env, owner->context);
  unhook(owner);
}

/* The thread or process ends: Node waits until the hook is removed. */
static void on_cleanup(napi_async_cleanup_hook_handle handle, void *data) {
  (void)handle;
  close_trace(data);
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  trace *owner = data;
  close_trace(owner);
  release(owner);
}

/* onAnswer(index, kind, errno, type, code, from, rttMs) */
static void report(probe *one, int kind, int error, int type, int code, const char *from, double rtt) {
  trace *owner = one->owner;
  napi_env env = owner->env;
  int index = (int)(one - owner->probes);
  close_probe(one);
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

/*
 * Reads the error queue of a socket: the router's address as text, type and code of its ICMP message. False when the queue
 * holds no such message. `waited_ns`: for how long it lay there, where the kernel stamps it.
 */
static bool read_error(int fd, char *from, size_t from_size, int *type, int *code, uint64_t *waited_ns) {
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
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
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
        uint64_t wall = now_ns(CLOCK_REALTIME);
        if (wall > arrived) *waited_ns = wall - arrived;
      }
    }
    if (error == NULL || (error->ee_origin != SO_EE_ORIGIN_ICMP && error->ee_origin != SO_EE_ORIGIN_ICMP6)) continue;
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

static void on_ready(uv_poll_t *poll, int status, int events) {
  (void)status; /* libuv takes an error queue that is not empty for a broken descriptor */
  (void)events;
  probe *one = (probe *)poll;
  trace *owner = one->owner;
  uint64_t since = now_ns(CLOCK_MONOTONIC) - one->sent_ns;
  double rtt = (double)since / 1e6;
  char from[INET6_ADDRSTRLEN];
  int type, code;
  uint64_t waited;
  if (read_error(one->fd, from, sizeof from, &type, &code, &waited)) {
    /* The kernel's stamp is of the wall clock, which may be set: only the wait is taken from it, if it can be true. */
    if (waited < since) rtt = (double)(since - waited) / 1e6;
    report(one, ROUTER_ANSWERED, 0, type, code, from, rtt);
    return;
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(one->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (owner->tcp && error == 0) {
    struct tcp_info info;
    size = sizeof info;
    /* The handshake as the kernel has measured it, however busy this process is. */
    if (getsockopt(one->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_rtt > 0) {
      double kernels = (double)info.tcpi_rtt / 1e3;
      if (kernels < rtt) rtt = kernels;
    }
  }
  report(one, error == 0 || error == ECONNREFUSED || error == ECONNRESET ? TARGET_ANSWERED : FAILED_HERE, error, -1, -1,
         "", rtt);
}

/*
 * openTrace(family 4 | 6, tcp, address, port, question Uint8Array, onAnswer): a trace, or a negative errno. `question` is
 * what UDP probes carry.
 */
static napi_value open_trace(napi_env env, napi_callback_info info) {
  size_t count = 6;
  napi_value arguments[6];
  int32_t version;
  bool tcp;
  char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
  size_t length, question_length;
  uint32_t port;
  napi_typedarray_type type;
  void *question;
  napi_valuetype callback;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 6 ||
      napi_get_value_int32(env, arguments[0], &version) != napi_ok || (version != 4 && version != 6) ||
      napi_get_value_bool(env, arguments[1], &tcp) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[2], text, sizeof text, &length) != napi_ok ||
      napi_get_value_uint32(env, arguments[3], &port) != napi_ok || port < 1 || port > 65535 ||
      napi_get_typedarray_info(env, arguments[4], &type, &question_length, &question, NULL, NULL) != napi_ok ||
      type != napi_uint8_array || question_length > QUESTION_MAX ||
      napi_typeof(env, arguments[5], &callback) != napi_ok || callback != napi_function) {
    return refuse(env, "openTrace takes a family, a boolean, an address, a port, 64 bytes at most and a function");
  }
  trace *owner = calloc(1, sizeof *owner);
  if (owner == NULL) return int_value(env, -ENOMEM);
  owner->family = version == 4 ? AF_INET : AF_INET6;
  owner->tcp = tcp;
  owner->target_length = parse_address(owner->family, text, &owner->target);
  if (owner->target_length == 0) {
    free(owner);
    return int_value(env, -EINVAL);
  }
  if (owner->family == AF_INET) {
    ((struct sockaddr_in *)&owner->target)->sin_port = htons((uint16_t)port);
  } else {
    ((struct sockaddr_in6 *)&owner->target)->sin6_port = htons((uint16_t)port);
  }
  if (question_length > 0) memcpy(owner->question, question, question_length);
  owner->question_length = question_length;
  owner->env = env;
  owner->references = 1;
  napi_value name, result;
  napi_create_string_utf8(env, "trace", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, NULL, name, &owner->context);
  napi_create_reference(env, arguments[5], 1, &owner->on_answer);
  owner->hooked = napi_add_async_cleanup_hook(env, on_cleanup, owner, &owner->cleanup) == napi_ok;
  if (napi_create_external(env, owner, on_collected, NULL, &result) != napi_ok) {
    close_trace(owner);
    release(owner);
    return NULL;
  }
  return result;
}

static trace *trace_of(napi_env env, napi_value value) {
  void *data;
  return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}

static int open_probe_socket(const trace *owner, int ttl) {
  int kind = owner->tcp ? SOCK_STREAM : SOCK_DGRAM;
  int fd = socket(owner->family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  bool v4 = owner->family == AF_INET;
  int on = 1;
  if (setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_UNICAST_HOPS, &ttl, sizeof ttl) != 0 ||
      setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR, &on, sizeof on) != 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  if (owner->tcp) {
    /* One SYN is one probe; and a connection that is answered leaves nothing behind. */
    struct linger at_once = {1, 0};
    setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  return fd;
}

/* sendProbe(trace, index, ttl): 0 or a negative errno. */
static napi_value send_probe(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  trace *owner = count == 3 ? trace_of(env, arguments[0]) : NULL;
  uint32_t index;
  int32_t ttl;
  if (owner == NULL || napi_get_value_uint32(env, arguments[1], &index) != napi_ok || index >= PROBES_MAX ||
      napi_get_value_int32(env, arguments[2], &ttl) != napi_ok || ttl < 1 || ttl > 255) {
    return refuse(env, "sendProbe takes a trace, an index below 128 and a number of hops");
  }
  if (owner->closing) return int_value(env, -EBADF);
  probe *one = &owner->probes[index];
  if (one->used) return int_value(env, -EBUSY);
  int fd = open_probe_socket(owner, ttl);
  if (fd < 0) return int_value(env, fd);
  uv_loop_t *loop;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok || uv_poll_init(loop, &one->poll, fd) != 0) {
    close(fd);
    return int_value(env, -ENOMEM);
  }
  one->used = one->open = true;
  one->owner = owner;
  one->fd = fd;
  owner->open_probes++;
  owner->references++;
  one->sent_ns = now_ns(CLOCK_MONOTONIC);
  int error = connect(fd, (struct sockaddr *)&owner->target, owner->target_length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = 0;
  if (error == 0 && !owner->tcp && send(fd, owner->question, owner->question_length, MSG_DONTWAIT) < 0) error = errno;
  if (error == ECONNREFUSED && owner->tcp) {
    /* Loopback refuses within the call: the loop is told all the same. */
    error = 0;
  }
  if (error == 0 && uv_poll_start(&one->poll, owner->tcp ? UV_WRITABLE | UV_READABLE : UV_READABLE, on_ready) != 0) {
    error = ENOMEM;
  }
  if (error != 0) {
    close_probe(one);
    return int_value(env, -error);
  }
  /* Whoever waits for it has a timer. */
  uv_unref((uv_handle_t *)&one->poll);
  return int_value(env, 0);
}

/* closeTrace(trace): at once and for good; more than once is fine. */
static napi_value close_trace_call(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  trace *owner = count == 1 ? trace_of(env, argument) : NULL;
  if (owner == NULL) return refuse(env, "closeTrace takes a trace");
  close_trace(owner);
  return NULL;
}

bool export_trace(napi_env env, napi_value exports) {
  return export_function(env, exports, "openTrace", open_trace) &&
         export_function(env, exports, "sendProbe", send_probe) &&
         export_function(env, exports, "closeTrace", close_trace_call);
}
