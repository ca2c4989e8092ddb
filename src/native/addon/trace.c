/*
 * Traces: probes with a low TTL and the answers to them, without privileges.
 *
 * Every probe has its own socket, so anything received on it answers that probe. A TCP probe is the SYN of a
 * connection that is closed as soon as it is answered (since Linux 5.8 an unprivileged user learns which router
 * dropped it). A UDP probe is one datagram. trace_receive.c reads the answers.
 *
 * All probes may be in flight at once. They are many flows, so they find all routes of routers that spread their load.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "addon.h"
#include "clock.h"
#include "echo_socket.h"
#include "trace.h"

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
  owner->open_probes--;
  if (owner->closing) unhook(owner);
  release(owner);
}

void close_probe(probe *one) {
  if (!one->open) return;
  one->open = false;
  uv_poll_stop(&one->poll);
  close(one->fd);
  uv_close((uv_handle_t *)&one->poll, on_closed);
}

static void close_trace(trace *owner) {
  if (owner->closing) return;
  owner->closing = true;
  for (uint32_t i = 0; i < owner->indexes; i++) close_probe(&owner->probes[i]);
  napi_delete_reference(owner->env, owner->on_answer);
  napi_async_destroy(owner->env, owner->context);
  unhook(owner);
}

/* The thread or process exits: Node waits until the hook is removed. */
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

/*
 * openTrace(family 4 or 6, tcp, address, port, question Uint8Array, onAnswer): a trace, or a negative errno. `question`
 * is the payload of UDP probes.
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
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 6 ||
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
    /* One SYN is one probe, and an answered connection leaves nothing behind. */
    struct linger at_once = {1, 0};
    setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  return fd;
}

/* Sends a probe. The code that waits for its answer has a timer, so it does not keep the loop alive. */
static int start_probe(trace *owner, uint32_t index, int ttl) {
  probe *one = &owner->probes[index];
  if (one->used) return -EBUSY;
  int fd = open_probe_socket(owner, ttl);
  if (fd < 0) return fd;
  uv_loop_t *loop;
  if (napi_get_uv_event_loop(owner->env, &loop) != napi_ok || uv_poll_init(loop, &one->poll, fd) != 0) {
    close(fd);
    return -ENOMEM;
  }
  one->used = one->open = true;
  if (index >= owner->indexes) owner->indexes = index + 1;
  one->owner = owner;
  one->fd = fd;
  owner->open_probes++;
  owner->references++;
  one->sent_ns = clock_ns(CLOCK_MONOTONIC);
  int error = connect(fd, (struct sockaddr *)&owner->target, owner->target_length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) error = 0;
  if (error == 0 && !owner->tcp && send(fd, owner->question, owner->question_length, MSG_DONTWAIT) < 0) error = errno;
  /* Loopback refuses within the call; report it through the event loop as usual. */
  if (error == ECONNREFUSED && owner->tcp) error = 0;
  int events = owner->tcp ? UV_WRITABLE | UV_READABLE : UV_READABLE;
  if (error == 0 && uv_poll_start(&one->poll, events, on_probe_ready) != 0) error = ENOMEM;
  if (error != 0) {
    close_probe(one);
    return -error;
  }
  uv_unref((uv_handle_t *)&one->poll);
  return 0;
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
    return refuse(env, "sendProbe takes a trace, an index below 1024 and a number of hops");
  }
  if (owner->closing) return int_value(env, -EBADF);
  return int_value(env, start_probe(owner, index, ttl));
}

/* closeTrace(trace): closes it immediately and permanently; repeated calls are harmless. */
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
