/* Receiving: replies in batches, errors one by one. Anything that matches none of our requests is dropped. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "echo_port.h"

static void call(echo_port *port, napi_ref function_ref, size_t count, napi_value *arguments) {
  napi_env env = port->env;
  napi_value function, global, result;
  if (napi_get_reference_value(env, function_ref, &function) != napi_ok || napi_get_global(env, &global) != napi_ok) {
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

/*
 * Milliseconds from sending to arrival. The kernel's timestamp uses the wall clock, which may be set at any time, so
 * only the waiting time in the socket is taken from it, and only if it is plausible.
 */
static double rtt_ms(const slot *request, uint64_t now_ns, uint64_t waited_ns) {
  uint64_t since = now_ns > request->sent_ns ? now_ns - request->sent_ns : 0;
  return (double)(waited_ns < since ? since - waited_ns : since) / 1e6;
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
  reply[1] = rtt_ms(request, now_ns, waited_ns);
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

static void report_error(echo_port *port, uint16_t sequence, const struct sock_extended_err *error, double rtt) {
  char from[INET6_ADDRSTRLEN] = "";
  const struct sockaddr *offender = SO_EE_OFFENDER(error);
  if (offender->sa_family == AF_INET) {
    inet_ntop(AF_INET, &((const struct sockaddr_in *)offender)->sin_addr, from, sizeof from);
  } else if (offender->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)offender)->sin6_addr, from, sizeof from);
  }
  napi_env env = port->env;
  napi_handle_scope scope;
  napi_open_handle_scope(env, &scope);
  napi_value arguments[6] = {
      int_value(env, sequence),
      int_value(env, (int)error->ee_errno),
      int_value(env, error->ee_type),
      int_value(env, error->ee_code),
  };
  napi_create_string_utf8(env, from, NAPI_AUTO_LENGTH, &arguments[4]);
  napi_create_double(env, rtt, &arguments[5]);
  call(port, port->on_error, 6, arguments);
  napi_close_handle_scope(env, scope);
}

/* The error queue holds the start of the request (RFC 792: at least eight bytes) and its target. */
static void take_error(echo_port *port, struct msghdr *message, size_t length) {
  const uint8_t *packet = message->msg_iov[0].iov_base;
  struct sock_extended_err *error = NULL;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
    if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) {
      error = (struct sock_extended_err *)CMSG_DATA(c);
    }
  }
  if (error == NULL || (error->ee_origin != SO_EE_ORIGIN_ICMP && error->ee_origin != SO_EE_ORIGIN_ICMP6)) return;
  if (length < HEADER || message->msg_namelen == 0) return;
  if (port->raw && memcmp(packet + 4, &port->id, 2) != 0) return;
  uint16_t sequence = (uint16_t)(packet[6] << 8 | packet[7]);
  slot *request = &port->slots[sequence];
  if (!request->used || !is_target(port, request, address_bytes(port, message->msg_name))) return;
  if (length >= HEADER + TOKEN && memcmp(packet + HEADER, request->token, TOKEN) != 0) return;
  request->used = false;
  report_error(port, sequence, error, rtt_ms(request, clock_ns(CLOCK_MONOTONIC), 0));
}

static void read_errors(echo_port *port) {
  for (int taken = 0; taken < ERRORS_PER_TURN && !port->closing; taken++) {
    struct sockaddr_storage target;
    struct iovec vector = {port->packets[0], PACKET_MAX};
    struct msghdr message = {
        .msg_name = &target,
        .msg_namelen = sizeof target,
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = port->controls[0],
        .msg_controllen = CONTROL_MAX,
    };
    ssize_t length = recvmsg(port->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (length < 0) break;
    take_error(port, &message, (size_t)length);
  }
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
