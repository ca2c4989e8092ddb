/*
 * Rounds of a trace of one flow: one probe for each number of hops, one after the other, without JavaScript in between.
 * Waking JavaScript for every probe costs several times as much as the probe.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>

#include "addon.h"
#include "trace.h"

/* The round is over: reports every answer, and then the end of the round with an error or 0. */
static void finish(trace *owner, int error) {
  int last = owner->round_ttl;
  owner->in_round = false;
  uv_timer_stop(&owner->timer);
  if (owner->current != NULL) close_probe(owner->current);
  for (int ttl = owner->round_first; ttl <= last && !owner->closing; ttl++) {
    const round_answer *one = &owner->answers[ttl];
    deliver(owner, ttl, one->kind, 0, one->type, one->code, one->from, one->rtt);
  }
  if (!owner->closing) deliver(owner, 0, ROUND_ENDED, error, -1, -1, "", 0);
}

static void on_wait_over(uv_timer_t *timer);

/* Sends the probe of the next distance: 0 or an errno. */
static int send_next(trace *owner) {
  if (owner->next_index >= PROBES_MAX) return ENOBUFS;
  int error = -start_probe(owner, owner->next_index++, owner->round_ttl + 1);
  if (error != 0) return error;
  owner->round_ttl++;
  round_answer *one = &owner->answers[owner->round_ttl];
  *one = (round_answer){.kind = NOBODY_ANSWERED, .type = -1, .code = -1};
  uv_timer_start(&owner->timer, on_wait_over, owner->wait_ms, 0);
  return 0;
}

static void go_on(trace *owner) {
  if (owner->round_ttl >= owner->round_last) {
    finish(owner, 0);
    return;
  }
  int error = send_next(owner);
  if (error != 0) finish(owner, error);
}

static void on_wait_over(uv_timer_t *timer) {
  trace *owner = timer->data;
  if (!owner->in_round) return;
  probe *one = owner->current;
  if (one != NULL) {
    /* The event loop runs timers before it reads sockets: after a long pause the answer may be unread. */
    struct pollfd waiting = {one->fd, (short)(POLLIN | (owner->tcp ? POLLOUT : 0)), 0};
    if (poll(&waiting, 1, 0) > 0) {
      on_probe_ready(&one->poll, waiting.revents & POLLERR ? -1 : 0, 0);
      if (owner->current != one) return;
    }
    close_probe(one);
  }
  owner->silent++;
  if (owner->max_silent > 0 && owner->silent >= owner->max_silent) finish(owner, 0);
  else go_on(owner);
}

void take_round_answer(trace *owner, const round_answer *answer, int error) {
  if (answer->kind == FAILED_HERE) {
    if (error == ETIMEDOUT) on_wait_over(&owner->timer);
    else finish(owner, error);
    return;
  }
  owner->answers[owner->round_ttl] = *answer;
  owner->silent = 0;
  /* Later hops may be as slow as this one, or slower. */
  uint64_t needed = (uint64_t)(3 * answer->rtt) + 100;
  if (needed > WAIT_MAX_MS) needed = WAIT_MAX_MS;
  if (needed > owner->wait_ms) owner->wait_ms = needed;
  int too_far = owner->family == AF_INET ? ICMP_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED;
  if (answer->kind == ROUTER_ANSWERED && answer->type == too_far) go_on(owner);
  else finish(owner, 0);
}

/* sendRound(trace, from, to, waitMs, maxSilent): 0 or a negative errno. */
static napi_value send_round(napi_env env, napi_callback_info info) {
  size_t count = 5;
  napi_value arguments[5];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  trace *owner = count == 5 ? trace_of(env, arguments[0]) : NULL;
  int32_t numbers[4];
  for (int i = 0; owner != NULL && i < 4; i++) {
    if (napi_get_value_int32(env, arguments[i + 1], &numbers[i]) != napi_ok) owner = NULL;
  }
  if (owner == NULL || owner->source_port == 0 || numbers[0] < 1 || numbers[1] < numbers[0] ||
      numbers[1] > ROUND_MAX || numbers[2] < 1 || numbers[2] > 60000 || numbers[3] < 0) {
    return refuse(env, "sendRound takes a trace of one flow, two numbers of hops up to 64, milliseconds and a number");
  }
  if (owner->closing) return int_value(env, -EBADF);
  if (owner->in_round) return int_value(env, -EBUSY);
  owner->round_first = numbers[0];
  owner->round_ttl = numbers[0] - 1;
  owner->round_last = numbers[1];
  owner->wait_ms = (uint64_t)numbers[2];
  owner->max_silent = numbers[3];
  owner->silent = 0;
  int error = send_next(owner);
  owner->in_round = error == 0;
  return int_value(env, -error);
}

/* endRound(trace): ends a round before its time. It reports what it has; the last probe is not part of it. */
static napi_value end_round(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  trace *owner = count == 1 ? trace_of(env, argument) : NULL;
  if (owner == NULL) return refuse(env, "endRound takes a trace");
  if (!owner->in_round || owner->closing) return NULL;
  if (owner->current != NULL) owner->round_ttl--;
  finish(owner, ECANCELED);
  return NULL;
}

bool export_trace_round(napi_env env, napi_value exports) {
  return export_function(env, exports, "sendRound", send_round) && export_function(env, exports, "endRound", end_round);
}
