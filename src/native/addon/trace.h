/* A trace and its probes: shared by trace.c (opens, sends, closes) and trace_receive.c (reads answers). */
#ifndef LOCATION_AGENT_TRACE_H
#define LOCATION_AGENT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <uv.h>

#include "addon.h"

enum { PROBES_MAX = 1024, QUESTION_MAX = 64 };

/* The kind of answer that onAnswer reports. */
enum { ROUTER_ANSWERED = 0, TARGET_ANSWERED = 1, FAILED_HERE = 2 };

typedef struct trace trace;

typedef struct {
  uv_poll_t poll; /* first, so that a handle's address is its probe's */
  trace *owner;
  int fd;
  bool used; /* an index is used only once */
  bool open;
  uint64_t sent_ns; /* CLOCK_MONOTONIC */
} probe;

struct trace {
  int family;
  bool tcp;
  struct sockaddr_storage target;
  socklen_t target_length;
  uint8_t question[QUESTION_MAX]; /* the payload of UDP probes */
  size_t question_length;
  bool closing;
  bool hooked;
  int references; /* one from JavaScript, and one from each open probe */
  int open_probes;
  napi_env env;
  napi_ref on_answer;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  uint32_t indexes; /* above the highest one in use */
  probe probes[PROBES_MAX];
};

/* trace.c: closes a probe; repeated calls are harmless. */
void close_probe(probe *one);

/* trace_receive.c: reads the answer to a probe and reports it to JavaScript. */
void on_probe_ready(uv_poll_t *poll, int status, int events);

#endif
