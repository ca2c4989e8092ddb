/* A trace and its probes: shared by trace.c (opens, sends, closes) and trace_receive.c (reads answers). */
#ifndef LOCATION_AGENT_TRACE_H
#define LOCATION_AGENT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <uv.h>

#include "addon.h"

enum { PROBES_MAX = 1024, QUESTION_MAX = 64, MARK = 2, ROUND_MAX = 64, FROM_MAX = 46 };

/* Less than the second after which the kernel repeats a SYN. */
enum { WAIT_MAX_MS = 900 };

/* The kind of answer that onAnswer reports. */
enum { ROUTER_ANSWERED = 0, TARGET_ANSWERED = 1, FAILED_HERE = 2, NOBODY_ANSWERED = 3, ROUND_ENDED = 4 };

typedef struct trace trace;

typedef struct {
  uv_poll_t poll; /* first, so that a handle's address is its probe's */
  trace *owner;
  int fd;
  bool used; /* an index is used only once */
  bool open;
  uint64_t sent_ns; /* CLOCK_MONOTONIC */
} probe;

/* The answer to the probe of a round. */
typedef struct {
  int kind;
  int type;
  int code;
  double rtt;
  char from[FROM_MAX];
} round_answer;

struct trace {
  int family;
  bool tcp;
  struct sockaddr_storage target;
  socklen_t target_length;
  uint8_t question[QUESTION_MAX]; /* the payload of UDP probes */
  size_t question_length;
  /*
   * Network order; 0 = each probe has a port of its own, so that many can be in flight. Otherwise all probes use this
   * one and are one flow for the routers: one probe is in flight at a time.
   */
  uint16_t source_port;
  bool closing;
  bool hooked;
  int references; /* one from JavaScript, and one from each open probe */
  int open_probes; /* and the timer */
  napi_env env;
  napi_ref on_answer;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  probe *current; /* the open probe of a trace of one flow */
  uint32_t next_index; /* of the next probe of a round */
  bool in_round;
  int round_first;
  int round_ttl; /* of the probe in flight */
  int round_last;
  uint64_t wait_ms;
  int silent; /* probes in a row without an answer */
  int max_silent;
  uv_timer_t timer;
  round_answer answers[ROUND_MAX + 1];
  probe probes[PROBES_MAX];
};

/* trace.c: closes a probe; repeated calls are harmless. */
void close_probe(probe *one);

/* trace.c: sends a probe under an unused index. 0 or a negative errno. */
int start_probe(trace *owner, uint32_t index, int ttl);

/* trace.c: the trace of a JavaScript value, NULL if it is none. */
trace *trace_of(napi_env env, napi_value value);

/* trace_receive.c: calls onAnswer. */
void deliver(trace *owner, int index, int kind, int error, int type, int code, const char *from, double rtt);

/* trace_round.c: the answer to the probe in flight; `error` is for FAILED_HERE. */
void take_round_answer(trace *owner, const round_answer *answer, int error);

/* trace.c: the first bytes of the datagram that a probe sends in a trace of one flow, which differ between probes. */
void write_mark(const probe *one, uint8_t mark[MARK]);

/* trace_receive.c: reads the answer to a probe and reports it to JavaScript. */
void on_probe_ready(uv_poll_t *poll, int status, int events);

/* trace_receive.c: nanoseconds of a clock. */
uint64_t clock_ns(clockid_t clock);

#endif
