/*
 * Captures: the first packets that pass a filter, from all interfaces. The kernel keeps them in a ring of a fixed
 * size until they are taken, so this process does no work when packets arrive. Needs the capability NET_RAW.
 *
 * The kernel takes tens of milliseconds to set up and to close such a socket, so libuv's threads do both. The event
 * loop, which measures, is not blocked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include "addon.h"
#include "capture_ring.h"

enum { INSTRUCTIONS_MAX = 1024 };

/* Work on a capture for a libuv thread, and the promise of its result. */
typedef struct {
  napi_async_work work;
  napi_deferred promise;
  capture *one;
  void *program; /* for opening: a copy */
  size_t instructions;
  char helper[PATH_MAX];
  uint8_t *out; /* for taking */
  size_t size;
  int error;
} task;

static void release(capture *one) {
  if (--one->references > 0) return;
  close_ring(one);
  free(one);
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  release(data);
}

/* A program as a Uint8Array of struct sock_filter. */
static bool program_of(napi_env env, napi_value value, void **program, size_t *instructions) {
  napi_typedarray_type type;
  size_t length;
  if (napi_get_typedarray_info(env, value, &type, &length, program, NULL, NULL) != napi_ok ||
      type != napi_uint8_array || length == 0 || length % sizeof(struct sock_filter) != 0 ||
      length / sizeof(struct sock_filter) > INSTRUCTIONS_MAX) {
    return false;
  }
  *instructions = length / sizeof(struct sock_filter);
  return true;
}

/*
 * Queues a task for a thread. Returns its promise, or NULL with an exception pending. The task holds a reference to
 * the capture.
 */
static napi_value queue_task(napi_env env, task *job, napi_async_execute_callback execute,
                        napi_async_complete_callback complete) {
  napi_value name, promise;
  if (napi_create_string_utf8(env, "capture", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_promise(env, &job->promise, &promise) == napi_ok &&
      napi_create_async_work(env, NULL, name, execute, complete, job, &job->work) == napi_ok &&
      napi_queue_async_work(env, job->work) == napi_ok) {
    return promise;
  }
  release(job->one);
  free(job->program);
  free(job);
  napi_throw_error(env, NULL, "cannot queue work for a thread");
  return NULL;
}

static void finish_task(napi_env env, task *job, napi_value value) {
  if (value == NULL) value = int_value(env, -ENOMEM);
  napi_resolve_deferred(env, job->promise, value);
  napi_delete_async_work(env, job->work);
  release(job->one);
  free(job->program);
  free(job->out);
  free(job);
}

static void open_on_thread(napi_env env, void *data) {
  (void)env;
  task *job = data;
  job->error = open_ring(job->one, job->program, job->instructions, job->helper);
  if (job->error != 0) close_ring(job->one);
}

static void on_opened(napi_env env, napi_status status, void *data) {
  task *job = data;
  if (status != napi_ok) job->error = -ECANCELED;
  napi_value result = NULL;
  if (job->error != 0) {
    result = int_value(env, job->error);
  } else if (napi_create_external(env, job->one, on_collected, NULL, &result) == napi_ok) {
    job->one->references++;
  }
  finish_task(env, job, result);
}

/*
 * openCapture(filter Uint8Array, helper): a promise of a running capture, or of a negative errno (EPERM: no NET_RAW).
 * `helper` is the file of the raw-socket program, used if this process lacks the capability; empty = none.
 */
static napi_value open_capture(napi_env env, napi_callback_info info) {
  size_t count = 2, length;
  napi_value arguments[2];
  void *program;
  size_t instructions;
  char helper[PATH_MAX];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count != 2 || !program_of(env, arguments[0], &program, &instructions) ||
      napi_get_value_string_utf8(env, arguments[1], helper, sizeof helper, &length) != napi_ok) {
    return refuse(env, "openCapture takes a filter of 1 to 1024 instructions and a path");
  }
  capture *one = calloc(1, sizeof *one);
  task *job = calloc(1, sizeof *job);
  void *copy = malloc(instructions * sizeof(struct sock_filter));
  if (one == NULL || job == NULL || copy == NULL) {
    free(one);
    free(job);
    free(copy);
    napi_throw_error(env, NULL, "no memory for a capture");
    return NULL;
  }
  memcpy(copy, program, instructions * sizeof(struct sock_filter));
  one->fd = -1;
  one->references = 1;
  job->one = one;
  job->program = copy;
  job->instructions = instructions;
  memcpy(job->helper, helper, sizeof helper);
  return queue_task(env, job, open_on_thread, on_opened);
}

static capture *capture_of(napi_env env, napi_value value) {
  void *data;
  return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}

/* filterCapture(capture, filter): replaces the filter for later packets. 0 or a negative errno. */
static napi_value filter_capture(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  void *program;
  size_t instructions;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  capture *one = count == 2 ? capture_of(env, arguments[0]) : NULL;
  if (one == NULL || !program_of(env, arguments[1], &program, &instructions)) {
    return refuse(env, "filterCapture takes a capture and a filter of 1 to 1024 instructions");
  }
  return int_value(env, one->taken ? -EBADF : attach_filter(one->fd, program, instructions));
}

static void take_on_thread(napi_env env, void *data) {
  (void)env;
  task *job = data;
  job->error = read_ring(job->one, &job->out, &job->size);
  close_ring(job->one);
}

static void on_taken(napi_env env, napi_status status, void *data) {
  task *job = data;
  if (status != napi_ok) job->error = -ECANCELED;
  napi_value result = NULL;
  if (job->error != 0) result = int_value(env, job->error);
  else if (napi_create_buffer_copy(env, job->size, job->out, NULL, &result) != napi_ok) result = NULL;
  finish_task(env, job, result);
}

/*
 * takeCapture(capture): stops the capture. Returns a promise of a Buffer, or of a negative errno (EBADF if it was
 * taken before). The Buffer holds a 32-bit count of lost packets, then records in the machine's byte order: seconds,
 * nanoseconds, length on the wire, captured length (16 bits), kind (8), unused (8), interface, the packet from its IP
 * header on.
 */
static napi_value take_capture(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  capture *one = count == 1 ? capture_of(env, argument) : NULL;
  if (one == NULL) return refuse(env, "takeCapture takes a capture");
  if (one->taken) {
    napi_deferred promise;
    napi_value result;
    napi_create_promise(env, &promise, &result);
    napi_resolve_deferred(env, promise, int_value(env, -EBADF));
    return result;
  }
  task *job = calloc(1, sizeof *job);
  if (job == NULL) {
    napi_throw_error(env, NULL, "no memory for a capture");
    return NULL;
  }
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  attach_filter(one->fd, &nothing, 1);
  one->taken = true;
  one->references++;
  job->one = one;
  return queue_task(env, job, take_on_thread, on_taken);
}

bool export_capture(napi_env env, napi_value exports) {
  return export_function(env, exports, "openCapture", open_capture) &&
         export_function(env, exports, "filterCapture", filter_capture) &&
         export_function(env, exports, "takeCapture", take_capture);
}
