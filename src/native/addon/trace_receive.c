/*
 * Answers to the probes of a trace: a finished handshake, a datagram, or a router's error from the socket's error
 * queue.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "clock.h"
#include "icmp_message.h"
#include "trace.h"

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

void on_probe_ready(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  probe *one = (probe *)poll;
  uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  icmp_message message;
  if (take_icmp_message(one->fd, &message)) {
    char from[ADDRESS_TEXT];
    sender_text(message.family, message.from, from);
    double rtt = rtt_ms(one->sent_ns, now_ns, message.waited_ns);
    report(one, ROUTER_ANSWERED, 0, message.type, message.code, from, rtt);
    return;
  }
  double rtt = rtt_ms(one->sent_ns, now_ns, 0);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(one->fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (one->owner->tcp && error == 0) {
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
