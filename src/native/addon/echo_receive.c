/* Receiving: replies and errors in batches. Anything that matches none of our requests is dropped. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "echo_port.h"
#include "icmp_message.h"

static void call(echo_port *port, napi_ref function_ref, size_t count, napi_value *arguments) {
  napi_env env = port->env;
  napi_value function, global, result;
  if (napi_get_reference_value(env, function_ref, &function) != napi_ok || napi_get_global(env, &global) != napi_ok) {
    return;
  }
  if (port->in_call) { /* an exception reaches the caller */
    napi_call_function(env, global, function, count, arguments, &result);
    return;
  }
  napi_status status = napi_make_callback(env, port->context, global, function, count, arguments, &result);
  if (status == napi_pending_exception) {
    napi_value exception;
    if (napi_get_and_clear_last_exception(env, &exception) == napi_ok) napi_fatal_exception(env, exception);
  }
}

static void report_replies(echo_port *port) {
  if (port->reply_count == 0 || port->closing) return;
  napi_handle_scope scope;
  napi_open_handle_scope(port->env, &scope);
  napi_value count = int_value(port->env, (int)port->reply_count);
  port->reply_count = 0;
  call(port, port->on_replies, 1, &count);
  napi_close_handle_scope(port->env, scope);
}

/* Whether `address` is the request's target. The unspecified address means this host, for which loopback answers. */
static bool is_target(const echo_port *port, const slot *request, const uint8_t *address) {
  static const uint8_t unspecified[16];
  size_t length = port->family == AF_INET ? 4 : 16;
  return memcmp(request->address, address, length) == 0 || memcmp(request->address, unspecified, length) == 0;
}

static bool payload_matches(const slot *request, const uint8_t *payload, size_t length) {
  if (length != request->payload || memcmp(payload, request->token, TOKEN) != 0) return false;
  for (size_t i = TOKEN; i < length; i++) {
    if (payload[i] != (uint8_t)i) return false;
  }
  return true;
}

static void take_reply(echo_port *port, struct msghdr *message, size_t length, uint64_t now_ns, uint64_t wall_ns) {
  const uint8_t *packet = message->msg_iov[0].iov_base;
  int ttl = -1;
  uint64_t waited_ns = 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec stamp;
      memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
      uint64_t arrived = (uint64_t)stamp.tv_sec * 1000000000u + (uint64_t)stamp.tv_nsec;
      if (wall_ns > arrived) waited_ns = wall_ns - arrived;
    } else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
               (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)) {
      memcpy(&ttl, CMSG_DATA(c), sizeof ttl);
    }
  }
  if (port->raw && port->family == AF_INET) { /* a raw IPv4 socket includes the IP header */
    if (length < 20) return;
    size_t header = (size_t)(packet[0] & 0x0f) * 4;
    if (header < 20 || length < header) return;
    ttl = packet[8];
    packet += header;
    length -= header;
  }
  if (length < HEADER + PAYLOAD_MIN) return;
  uint8_t reply_type = port->family == AF_INET ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY;
  if (packet[0] != reply_type || packet[1] != 0) return;
  if (port->raw && memcmp(packet + 4, &port->id, 2) != 0) return;
  uint16_t sequence = (uint16_t)(packet[6] << 8 | packet[7]);
  slot *request = &port->slots[sequence];
  if (!request->used || !payload_matches(request, packet + HEADER, length - HEADER)) return;
  if (!is_target(port, request, address_bytes(port, message->msg_name))) return;
  request->used = false;
  double *reply = port->replies + port->reply_count++ * FIELDS;
  reply[0] = sequence;
  reply[1] = rtt_ms(request->sent_ns, now_ns, waited_ns);
  reply[2] = ttl;
  reply[3] = (double)(length - HEADER);
  reply[4] = packet[0];
  reply[5] = packet[1];
}

static void read_replies(echo_port *port) {
  struct mmsghdr messages[BATCH];
  struct iovec vectors[BATCH];
  struct sockaddr_storage sources[BATCH];
  int failures = 0;
  for (int taken = 0; taken < PACKETS_PER_TURN && !port->closing;) {
    for (int i = 0; i < BATCH; i++) {
      vectors[i] = (struct iovec){port->packets[i], PACKET_MAX};
      messages[i].msg_hdr = (struct msghdr){
          .msg_name = &sources[i],
          .msg_namelen = sizeof sources[i],
          .msg_iov = &vectors[i],
          .msg_iovlen = 1,
          .msg_control = port->controls[i],
          .msg_controllen = CONTROL_MAX,
      };
    }
    int count = recvmmsg(port->fd, messages, BATCH, MSG_DONTWAIT, NULL);
    if (count <= 0) {
      /* Besides an empty queue this may be the pending error of some request, which this call has cleared. */
      if (count < 0 && errno != EAGAIN && failures++ < 16) continue;
      break;
    }
    taken += count;
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t wall_ns = clock_ns(CLOCK_REALTIME);
    for (int i = 0; i < count; i++) {
      take_reply(port, &messages[i].msg_hdr, messages[i].msg_len, now_ns, wall_ns);
    }
    if (port->reply_count > REPLIES_MAX - BATCH) report_replies(port);
    if (count < BATCH) break; /* the queue is empty; another call would return nothing */
  }
  report_replies(port);
}

/* The quoted part of the request is its start (RFC 792: at least eight bytes). Returns whether it was one of ours. */
static bool take_error(echo_port *port, const icmp_message *message, uint64_t now_ns) {
  const uint8_t *packet = message->quoted;
  size_t length = message->quoted_length;
  if (length < HEADER || message->target_length == 0) return false;
  if (port->raw && memcmp(packet + 4, &port->id, 2) != 0) return false;
  uint16_t sequence = (uint16_t)(packet[6] << 8 | packet[7]);
  slot *request = &port->slots[sequence];
  if (!request->used || !is_target(port, request, address_bytes(port, &message->target))) return false;
  if (length >= HEADER + TOKEN && memcmp(packet + HEADER, request->token, TOKEN) != 0) return false;
  request->used = false;
  double *error = port->replies + port->reply_count++ * FIELDS;
  error[0] = sequence;
  error[1] = rtt_ms(request->sent_ns, now_ns, message->waited_ns);
  error[2] = message->error;
  error[3] = 0;
  error[4] = message->type;
  error[5] = message->code;
  return true;
}

static void report_errors(echo_port *port, const char *senders, size_t length) {
  if (port->reply_count == 0 || port->closing) return;
  napi_handle_scope scope;
  napi_open_handle_scope(port->env, &scope);
  napi_value arguments[2] = {int_value(port->env, (int)port->reply_count)};
  napi_create_string_latin1(port->env, senders, length, &arguments[1]);
  port->reply_count = 0;
  call(port, port->on_errors, 2, arguments);
  napi_close_handle_scope(port->env, scope);
}

static void read_errors(echo_port *port) {
  char senders[REPLIES_MAX * ADDRESS_TEXT]; /* the space takes the place of the zero */
  icmp_message message;
  for (int taken = 0; taken < ERRORS_PER_TURN && !port->closing;) {
    char *end = senders;
    bool is_empty = false;
    while (port->reply_count < REPLIES_MAX && taken < ERRORS_PER_TURN && !is_empty) {
      taken++;
      is_empty = !take_icmp_message(port->fd, &message);
      if (is_empty || !take_error(port, &message, clock_ns(CLOCK_MONOTONIC))) continue;
      sender_text(message.family, message.from, end);
      end += strlen(end);
      *end++ = ' ';
    }
    report_errors(port, senders, (size_t)(end - senders));
    if (is_empty) break;
  }
}

void read_errors_now(echo_port *port) {
  port->in_call = true;
  read_errors(port);
  port->in_call = false;
}

static void on_ready(uv_poll_t *poll, int status, int events);

void echo_listen(echo_port *port) {
  /* Does not keep the loop alive: the code that waits for a reply has a timer. */
  if (uv_poll_start(&port->poll, UV_READABLE, on_ready) == 0) uv_unref((uv_handle_t *)&port->poll);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
  (void)events;
  echo_port *port = (echo_port *)poll;
  if (status < 0) {
    /* libuv treats a full error queue as a broken descriptor and stops. Once emptied, the socket works again. */
    read_errors(port);
    int error;
    socklen_t size = sizeof error;
    getsockopt(port->fd, SOL_SOCKET, SO_ERROR, &error, &size); /* clears the pending error */
  }
  if (!port->closing) read_replies(port);
  if (status < 0 && !port->closing) echo_listen(port);
}
