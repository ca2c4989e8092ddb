/*
 * Captures: the first packets that pass a filter, from all interfaces, kept by the kernel in a ring of a fixed size until
 * they are taken. Nothing runs in this process while they come in. Needs the capability NET_RAW.
 *
 * The kernel takes tens of milliseconds to set such a socket up and to close it, so both are done by libuv's threads: the
 * event loop, which measures, does not stand still for it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addon.h"
#include "raw_socket.h"

enum {
  FRAME = 256, /* header of the ring's frames, address and 160 bytes of a packet */
  BLOCK = 64 * 1024,
  BLOCKS = 8,
  FRAMES = BLOCKS * BLOCK / FRAME, /* 2048 packets */
  RECORD = 20,                     /* header of a record that is handed out */
  INSTRUCTIONS_MAX = 1024,
};

typedef struct {
  int fd;
  uint8_t *ring;
  int references; /* JavaScript's, and that of work which is under way */
  bool taken;
} capture;

/* Something that a thread of libuv does to a capture, and the promise for it. */
typedef struct {
  napi_async_work work;
  napi_deferred promise;
  capture *one;
  void *program; /* of opening: a copy */
  size_t instructions;
  char helper[PATH_MAX];
  uint8_t *out; /* of taking */
  size_t size;
  int error;
} task;

static void close_ring(capture *one) {
  if (one->ring != NULL) munmap(one->ring, BLOCKS * BLOCK);
  if (one->fd >= 0) close(one->fd);
  one->ring = NULL;
  one->fd = -1;
}

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

/* The kernel checks the program itself. */
static int attach(int fd, void *program, size_t instructions) {
  struct sock_fprog filter = {(unsigned short)instructions, program};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0 ? 0 : -errno;
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

static int start(capture *one, void *program, size_t instructions, const char *helper) {
  /* No protocol yet: nothing comes in before the filter stands. */
  one->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (one->fd < 0) {
    if (errno != EPERM || helper[0] == '\0') return -errno;
    int given = open_by_helper(helper, AF_PACKET);
    if (given < 0) return given;
    one->fd = given;
  }
  int version = TPACKET_V2;
  struct tpacket_req request = {
      .tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = FRAME, .tp_frame_nr = FRAMES};
  int error = attach(one->fd, program, instructions);
  if (error != 0) return error;
  if (setsockopt(one->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
      setsockopt(one->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
    return -errno;
  }
  void *ring = mmap(NULL, BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, one->fd, 0);
  if (ring == MAP_FAILED) return -errno;
  one->ring = ring;
  struct sockaddr_ll everywhere = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  return bind(one->fd, (struct sockaddr *)&everywhere, sizeof everywhere) == 0 ? 0 : -errno;
}

/* Hands a task to a thread; its promise, or NULL with an exception pending. The task has a reference to the capture. */
static napi_value begin(napi_env env, task *what, napi_async_execute_callback execute,
                        napi_async_complete_callback complete) {
  napi_value name, promise;
  if (napi_create_string_utf8(env, "capture", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_create_promise(env, &what->promise, &promise) == napi_ok &&
      napi_create_async_work(env, NULL, name, execute, complete, what, &what->work) == napi_ok &&
      napi_queue_async_work(env, what->work) == napi_ok) {
    return promise;
  }
  release(what->one);
  free(what->program);
  free(what);
  napi_throw_error(env, NULL, "no thread can be asked");
  return NULL;
}

static void end(napi_env env, task *what, napi_value value) {
  if (value == NULL) value = int_value(env, -ENOMEM);
  napi_resolve_deferred(env, what->promise, value);
  napi_delete_async_work(env, what->work);
  release(what->one);
  free(what->program);
  free(what->out);
  free(what);
}

static void open_on_thread(napi_env env, void *data) {
  (void)env;
  task *what = data;
  what->error = start(what->one, what->program, what->instructions, what->helper);
  if (what->error != 0) close_ring(what->one);
}

static void on_opened(napi_env env, napi_status status, void *data) {
  task *what = data;
  if (status != napi_ok) what->error = -ECANCELED;
  napi_value result = NULL;
  if (what->error != 0) {
    result = int_value(env, what->error);
  } else if (napi_create_external(env, what->one, on_collected, NULL, &result) == napi_ok) {
    what->one->references++;
  }
  end(env, what, result);
}

/*
 * openCapture(filter Uint8Array, helper): a promise of a capture that runs, or of a negative errno (EPERM: no NET_RAW).
 * `helper` is the file of the raw-socket program, asked where this process may not; empty = there is none.
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
  task *what = calloc(1, sizeof *what);
  void *copy = malloc(instructions * sizeof(struct sock_filter));
  if (one == NULL || what == NULL || copy == NULL) {
    free(one);
    free(what);
    free(copy);
    napi_throw_error(env, NULL, "no memory for a capture");
    return NULL;
  }
  memcpy(copy, program, instructions * sizeof(struct sock_filter));
  one->fd = -1;
  one->references = 1;
  what->one = one;
  what->program = copy;
  what->instructions = instructions;
  memcpy(what->helper, helper, sizeof helper);
  return begin(env, what, open_on_thread, on_opened);
}

static capture *capture_of(napi_env env, napi_value value) {
  void *data;
  return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}

/* filterCapture(capture, filter): what comes from now on has to pass this one instead. 0 or a negative errno. */
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
  return int_value(env, one->taken ? -EBADF : attach(one->fd, program, instructions));
}

static void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

/* Whether a frame holds a packet to hand out. Loopback shows each packet twice: as it leaves and as it arrives. */
static bool is_packet(const struct tpacket2_hdr *frame, const struct sockaddr_ll *address) {
  if (frame->tp_snaplen == 0 || frame->tp_net + frame->tp_snaplen > FRAME) return false;
  return address->sll_hatype != ARPHRD_LOOPBACK || address->sll_pkttype != PACKET_OUTGOING;
}

static void read_ring(task *what) {
  capture *one = what->one;
  struct tpacket_stats stats = {0};
  socklen_t stats_size = sizeof stats;
  getsockopt(one->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &stats_size);
  uint8_t *out = malloc(4 + (size_t)FRAMES * (RECORD + FRAME));
  if (out == NULL) {
    what->error = -ENOMEM;
    return;
  }
  put32(out, stats.tp_drops);
  size_t at = 4;
  for (size_t i = 0; i < FRAMES; i++) {
    const struct tpacket2_hdr *frame = (const void *)(one->ring + i * FRAME);
    if ((__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) break;
    const struct sockaddr_ll *address = (const void *)((const uint8_t *)frame + TPACKET_ALIGN(sizeof *frame));
    if (!is_packet(frame, address)) continue;
    uint16_t captured = (uint16_t)frame->tp_snaplen;
    put32(out + at, frame->tp_sec);
    put32(out + at + 4, frame->tp_nsec);
    put32(out + at + 8, frame->tp_len);
    memcpy(out + at + 12, &captured, sizeof captured);
    out[at + 14] = address->sll_pkttype;
    out[at + 15] = 0;
    put32(out + at + 16, (uint32_t)address->sll_ifindex);
    memcpy(out + at + RECORD, (const uint8_t *)frame + frame->tp_net, captured);
    at += RECORD + captured;
  }
  what->out = out;
  what->size = at;
}

static void take_on_thread(napi_env env, void *data) {
  (void)env;
  task *what = data;
  read_ring(what);
  close_ring(what->one);
}

static void on_taken(napi_env env, napi_status status, void *data) {
  task *what = data;
  if (status != napi_ok) what->error = -ECANCELED;
  napi_value result = NULL;
  if (what->error != 0) result = int_value(env, what->error);
  else if (napi_create_buffer_copy(env, what->size, what->out, NULL, &result) != napi_ok) result = NULL;
  end(env, what, result);
}

/*
 * takeCapture(capture): nothing more comes in from now on. A promise of a Buffer: a 32-bit count of packets that were lost,
 * then records in the machine's byte order: seconds, nanoseconds, length on the wire, captured length (16 bits), kind (8),
 * unused (8), interface, the packet from its IP header on. Or of a negative errno: EBADF where it was taken before.
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
  task *what = calloc(1, sizeof *what);
  if (what == NULL) {
    napi_throw_error(env, NULL, "no memory for a capture");
    return NULL;
  }
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  attach(one->fd, &nothing, 1);
  one->taken = true;
  one->references++;
  what->one = one;
  return begin(env, what, take_on_thread, on_taken);
}

bool export_capture(napi_env env, napi_value exports) {
  return export_function(env, exports, "openCapture", open_capture) &&
         export_function(env, exports, "filterCapture", filter_capture) &&
         export_function(env, exports, "takeCapture", take_capture);
}
