#ifndef LOCATION_AGENT_ECHO_PORT_H
#define LOCATION_AGENT_ECHO_PORT_H

/* Shared by sending (echo.c) and receiving (echo_receive.c). */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "addon.h"
#include "clock.h"

enum {
  SLOTS = 65536,
  HEADER = 8,
  TOKEN = 8,
  /* At least the token; usually at most what fits a usual MTU. Unfragmented ones may fill frames of 9000 bytes. */
  PAYLOAD_MIN = TOKEN,
  PAYLOAD_USUAL_MAX = 1400,
  PAYLOAD_MAX = 8972,
  BATCH = 32,
  PACKET_MAX = 9088, /* with the longest IP header */
  CONTROL_MAX = 512,
  /* Of one reply in the shared array: sequence, rtt, ttl (of an error: errno), payload bytes, type, code. */
  FIELDS = 6,
  REPLIES_MAX = 64,
  /* Packets read per wake-up. More packets cause another wake-up, after other work of the loop. */
  PACKETS_PER_TURN = 512,
  ERRORS_PER_TURN = 128,
};

/* One request in flight. */
typedef struct {
  uint8_t token[TOKEN];
  uint64_t sent_ns; /* CLOCK_MONOTONIC */
  uint8_t address[16];
  uint16_t payload;
  bool used;
} slot;

typedef struct {
  uv_poll_t poll; /* first, so that a handle's address is its port's */
  int fd;
  int family;
  bool raw;
  bool whole; /* requests are never fragmented */
  uint16_t id; /* network order; raw only, otherwise the kernel chooses it */
  bool closing;
  bool in_call; /* of JavaScript, which reads errors */
  int references; /* from JavaScript and from libuv */
  napi_env env;
  napi_ref replies_ref; /* keeps the shared array alive */
  napi_ref on_replies;
  napi_ref on_errors;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  double *replies;
  size_t reply_count;
  uint8_t random[512];
  size_t random_left;
  uint8_t packets[BATCH][PACKET_MAX];
  uint8_t controls[BATCH][CONTROL_MAX] __attribute__((aligned(16)));
  slot slots[SLOTS];
} echo_port;

/* The bare address: 4 or 16 bytes. */
static inline const uint8_t *address_bytes(const echo_port *port, const struct sockaddr_storage *address) {
  return port->family == AF_INET ? (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr
                                 : (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
}

/* Starts to read replies and errors. */
void echo_listen(echo_port *port);

/* Reads the errors that have arrived, and reports them within this call of JavaScript. */
void read_errors_now(echo_port *port);

#endif
