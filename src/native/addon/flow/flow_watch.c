/*
 * The watch of an environment: waits for the answers of all its flows with one descriptor and one timer of the event
 * loop. A handle of the loop for each probe costs more than the probe.
 *
 * JavaScript runs only after all events of a turn were read. It may close any flow, also one of the same turn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../clock.h"
#include "flow.h"

enum { EVENTS_PER_TURN = 64 };

struct flow_watch {
  uv_poll_t poll;
  uv_timer_t timer;
  int epoll;
  flow *waiting;
  flow *over; /* in no certain order */
  uint64_t due_ns; /* of the timer; 0 = it does not run */
  bool closing;
  int open_handles;
  int references; /* from flows, and one until the handles are closed */
  napi_env env;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
};

static void link_flow(flow *one, flow **list) {
  one->list = list;
  one->previous = NULL;
  one->next = *list;
  if (one->next != NULL) one->next->previous = one;
  *list = one;
}

static void unlink_flow(flow *one) {
  if (one->list == NULL) return;
  if (one->previous != NULL) one->previous->next = one->next;
  else *one->list = one->next;
  if (one->next != NULL) one->next->previous = one->previous;
  one->list = NULL;
}

void release_watch(flow_watch *watch) {
  if (--watch->references == 0) free(watch);
}

static void on_handle_closed(uv_handle_t *handle) {
  flow_watch *watch = handle->data;
  if (--watch->open_handles > 0) return;
  close(watch->epoll);
  napi_remove_async_cleanup_hook(watch->cleanup);
  release_watch(watch);
}

/* The thread or process exits: Node waits until the hook is removed. */
static void on_cleanup(napi_async_cleanup_hook_handle handle, void *data) {
  (void)handle;
  flow_watch *watch = data;
  watch->closing = true;
  napi_async_destroy(watch->env, watch->context);
  uv_close((uv_handle_t *)&watch->poll, on_handle_closed);
  uv_close((uv_handle_t *)&watch->timer, on_handle_closed);
}

static void on_timer(uv_timer_t *timer);

static void start_timer(flow_watch *watch, uint64_t deadline_ns) {
  uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
  watch->due_ns = deadline_ns;
  uv_timer_start(&watch->timer, on_timer, (left_ns + 999999) / 1000000, 0);
}

/* Ends a turn: reports the rounds that are over. Without a wait, nothing keeps the event loop alive. */
static void report_rounds(flow_watch *watch) {
  if (watch->waiting == NULL && watch->due_ns != 0) {
    uv_timer_stop(&watch->timer);
    watch->due_ns = 0;
  }
  while (watch->over != NULL && !watch->closing) {
    flow *one = watch->over;
    unlink_flow(one);
    report_round(one);
  }
}

static void on_ready(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  flow_watch *watch = poll->data;
  struct epoll_event ready[EVENTS_PER_TURN];
  /* More of them cause another turn. */
  int count = epoll_wait(watch->epoll, ready, EVENTS_PER_TURN, 0);
  for (int i = 0; i < count; i++) {
    flow *one = ready[i].data.ptr;
    on_flow_ready(one, ready[i].events);
  }
  report_rounds(watch);
}

static void on_timer(uv_timer_t *timer) {
  flow_watch *watch = timer->data;
  uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  uint64_t earliest_ns = 0;
  watch->due_ns = 0;
  flow *after;
  /* A flow that waits again becomes the first one of the list, which is behind this loop. */
  for (flow *one = watch->waiting; one != NULL; one = after) {
    after = one->next;
    if (one->deadline_ns <= now_ns) {
      unlink_flow(one);
      on_flow_late(one);
    } else if (earliest_ns == 0 || one->deadline_ns < earliest_ns) {
      earliest_ns = one->deadline_ns;
    }
  }
  if (earliest_ns != 0 && (watch->due_ns == 0 || earliest_ns < watch->due_ns)) start_timer(watch, earliest_ns);
  report_rounds(watch);
}

static flow_watch *open_watch(napi_env env) {
  uv_loop_t *loop;
  flow_watch *watch = calloc(1, sizeof *watch);
  if (watch == NULL) return NULL;
  watch->epoll = epoll_create1(EPOLL_CLOEXEC);
  napi_value name;
  if (watch->epoll < 0 || napi_get_uv_event_loop(env, &loop) != napi_ok ||
      napi_create_string_utf8(env, "flow", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_async_init(env, NULL, name, &watch->context) != napi_ok ||
      uv_poll_init(loop, &watch->poll, watch->epoll) != 0) {
    if (watch->epoll >= 0) close(watch->epoll);
    free(watch);
    return NULL;
  }
  uv_timer_init(loop, &watch->timer);
  watch->poll.data = watch->timer.data = watch;
  watch->open_handles = 2;
  watch->references = 1;
  watch->env = env;
  napi_add_async_cleanup_hook(env, on_cleanup, watch, &watch->cleanup);
  napi_set_instance_data(env, watch, NULL, NULL);
  uv_poll_start(&watch->poll, UV_READABLE, on_ready);
  uv_unref((uv_handle_t *)&watch->poll);
  return watch;
}

flow_watch *watch_of(napi_env env) {
  void *data = NULL;
  napi_get_instance_data(env, &data);
  flow_watch *watch = data != NULL ? data : open_watch(env);
  if (watch == NULL || watch->closing) return NULL;
  watch->references++;
  return watch;
}

int await_answer(flow *one, uint64_t wait_ms) {
  flow_watch *watch = one->watch;
  if (watch->closing) return ECANCELED;
  /* Each wait arms the socket once: between them, events of a closed connection would wake the loop for nothing. */
  struct epoll_event event = {
      .events = EPOLLONESHOT | EPOLLIN | (one->tcp ? EPOLLOUT : 0),
      .data.ptr = one,
  };
  if (epoll_ctl(watch->epoll, one->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, one->fd, &event) != 0) return errno;
  one->is_watched = true;
  if (wait_ms == 0) return 0;
  unlink_flow(one);
  link_flow(one, &watch->waiting);
  one->deadline_ns = clock_ns(CLOCK_MONOTONIC) + wait_ms * 1000000;
  if (watch->due_ns == 0 || one->deadline_ns < watch->due_ns) start_timer(watch, one->deadline_ns);
  return 0;
}

void await_report(flow *one) {
  unlink_flow(one);
  link_flow(one, &one->watch->over);
}

void forget_flow(flow *one) { unlink_flow(one); }

void unwatch_socket(flow *one) {
  /* Closing does not suffice while another process that was just started still has the descriptor. */
  if (one->is_watched && !one->watch->closing) epoll_ctl(one->watch->epoll, EPOLL_CTL_DEL, one->fd, NULL);
  one->is_watched = false;
}

void call_back(flow_watch *watch, napi_env env, napi_ref function_ref, napi_value argument) {
  napi_value function, global, result;
  if (argument == NULL || napi_get_reference_value(env, function_ref, &function) != napi_ok ||
      napi_get_global(env, &global) != napi_ok) {
    return;
  }
  if (napi_make_callback(env, watch->context, global, function, 1, &argument, &result) == napi_pending_exception) {
    napi_value exception;
    if (napi_get_and_clear_last_exception(env, &exception) == napi_ok) napi_fatal_exception(env, exception);
  }
}
