/*
 * Rounds of a flow: one probe for each number of hops, one after the other, without JavaScript in between. Waking
 * JavaScript for every probe costs several times as much as the probe.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>

#include "flow.h"
#include "../icmp_message.h"

static void end_round(flow *one, int error) {
  /* Or the kernel would repeat an unanswered SYN. */
  give_up_probe(one);
  one->in_round = false;
  one->error = error;
}

static void take_silence(flow *one) {
  one->silent++;
  if (one->max_silent > 0 && one->silent >= one->max_silent) end_round(one, 0);
}

static void take_answer(flow *one, const probe_answer *answer) {
  if (answer->kind == FAILED_HERE) {
    if (answer->error == ETIMEDOUT) take_silence(one);
    else end_round(one, answer->error);
    return;
  }
  one->answers[one->ttl] = *answer;
  one->silent = 0;
  /* Later hops may be as slow as this one, or slower. */
  uint64_t needed = (uint64_t)(3 * answer->rtt) + 100;
  if (needed > WAIT_MAX_MS) needed = WAIT_MAX_MS;
  if (needed > one->wait_ms) one->wait_ms = needed;
  int too_far = one->family == AF_INET ? ICMP_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED;
  if (answer->kind == TARGET_ANSWERED || answer->type != too_far) end_round(one, 0);
}

/* Sends the probes that are due. It then waits for the answer of one, or the round is over. */
static void go_on(flow *one) {
  while (one->in_round) {
    if (one->ttl >= one->last) return end_round(one, 0);
    int error = send_flow_probe(one, one->ttl + 1);
    if (error != 0) return end_round(one, error);
    one->ttl++;
    probe_answer answer;
    /* Routers on this host, such as those of containers, have answered already. */
    bool is_answered = read_answer(one, 0, &answer);
    one->answers[one->ttl] = (probe_answer){.kind = NOBODY_ANSWERED, .type = -1, .code = -1};
    if (is_answered) {
      take_answer(one, &answer);
      continue;
    }
    error = await_answer(one, one->wait_ms);
    if (error != 0) end_round(one, error);
    return;
  }
}

/* Continues a round that has waited. */
static void resume(flow *one) {
  go_on(one);
  if (!one->in_round) await_report(one);
}

void on_flow_ready(flow *one, uint32_t events) {
  if (!one->in_round) return;
  probe_answer answer;
  if (read_answer(one, events, &answer)) {
    take_answer(one, &answer);
    resume(one);
    return;
  }
  /* A late message. The wait goes on until its deadline. */
  int error = await_answer(one, 0);
  if (error == 0) return;
  end_round(one, error);
  await_report(one);
}

void on_flow_late(flow *one) {
  /* The event loop runs timers before it reads sockets: after a long pause the answer may be unread. */
  struct pollfd waiting = {one->fd, (short)(POLLIN | (one->tcp ? POLLOUT : 0)), 0};
  probe_answer answer;
  if (poll(&waiting, 1, 0) > 0 && read_answer(one, (uint32_t)waiting.revents, &answer)) take_answer(one, &answer);
  else take_silence(one);
  resume(one);
}

/* Appends the sender's address to the texts if it is not the one that was last reported for the distance. */
static int report_sender(flow *one, int ttl, char **end) {
  const probe_answer *answer = &one->answers[ttl];
  known_sender *known = &one->senders[ttl];
  if (answer->kind != ROUTER_ANSWERED || answer->family == AF_UNSPEC) return SENDER_UNKNOWN;
  if (known->family == answer->family && memcmp(known->from, answer->from, sizeof known->from) == 0) {
    return SENDER_AS_BEFORE;
  }
  known->family = answer->family;
  memcpy(known->from, answer->from, sizeof known->from);
  sender_text(answer->family, answer->from, *end);
  *end += strlen(*end);
  *(*end)++ = ' ';
  return SENDER_NEW;
}

/* Writes the numbers of a round that is over. Returns the texts of its new senders, with a space after each. */
static napi_value take_round(flow *one) {
  char texts[ROUND_MAX * ADDRESS_TEXT]; /* the space takes the place of the zero */
  char *end = texts;
  double *numbers = one->numbers;
  numbers[0] = one->ttl - one->first + 1;
  numbers[1] = one->error;
  double *fields = numbers + ROUND_HEAD;
  for (int ttl = one->first; ttl <= one->ttl; ttl++, fields += ROUND_FIELDS) {
    const probe_answer *answer = &one->answers[ttl];
    fields[0] = answer->kind;
    fields[1] = answer->type;
    fields[2] = answer->code;
    fields[3] = answer->rtt;
    fields[4] = report_sender(one, ttl, &end);
  }
  napi_value senders = NULL;
  napi_create_string_latin1(one->env, texts, (size_t)(end - texts), &senders);
  return senders;
}

void report_round(flow *one) {
  napi_env env = one->env;
  napi_handle_scope scope;
  napi_open_handle_scope(env, &scope);
  call_back(one->watch, env, one->on_round, take_round(one));
  napi_close_handle_scope(env, scope);
}

/* sendRound(flow, from, to, waitMs, maxSilent): 0, a negative errno, or the senders of a round that is over already. */
static napi_value send_round(napi_env env, napi_callback_info info) {
  size_t count = 5;
  napi_value arguments[5];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  flow *one = count == 5 ? flow_of(env, arguments[0]) : NULL;
  int32_t numbers[4];
  for (int i = 0; one != NULL && i < 4; i++) {
    if (napi_get_value_int32(env, arguments[i + 1], &numbers[i]) != napi_ok) one = NULL;
  }
  if (one == NULL || numbers[0] < 1 || numbers[1] < numbers[0] || numbers[1] > ROUND_MAX || numbers[2] < 1 ||
      numbers[2] > 60000 || numbers[3] < 0) {
    return refuse(env, "sendRound takes a flow, two numbers of hops up to 64, milliseconds and a number");
  }
  if (one->closed) return int_value(env, -EBADF);
  if (one->in_round) return int_value(env, -EBUSY);
  if (!one->tcp) drop_late_answers(one);
  one->first = numbers[0];
  one->ttl = numbers[0] - 1;
  one->last = numbers[1];
  one->wait_ms = (uint64_t)numbers[2];
  one->max_silent = numbers[3];
  one->silent = 0;
  one->in_round = true;
  go_on(one);
  return one->in_round ? int_value(env, 0) : take_round(one);
}

/*
 * endRound(flow): ends a round before its time. Returns the senders of what it has; the last probe is not part of it.
 * Returns undefined if there is no round.
 */
static napi_value end_round_call(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  flow *one = count == 1 ? flow_of(env, argument) : NULL;
  if (one == NULL) return refuse(env, "endRound takes a flow");
  bool is_unreported = !one->in_round && one->list != NULL;
  if (one->closed || (!one->in_round && !is_unreported)) return NULL;
  forget_flow(one);
  if (one->in_round) {
    one->ttl--;
    end_round(one, ECANCELED);
  }
  return take_round(one);
}

bool export_flow_round(napi_env env, napi_value exports) {
  return export_function(env, exports, "sendRound", send_round) &&
         export_function(env, exports, "endRound", end_round_call);
}
