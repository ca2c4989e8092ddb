/*
 * Echo ports: one ICMP or ICMPv6 socket that sends echo requests and reports their replies and errors in batches.
 *
 * Requests are distinguished by their sequence number, which JavaScript chooses among the free ones. A reply counts
 * only if it has the request's sequence number, comes from the request's target and returns its payload, which starts
 * with six random bytes. Any other reply (another program's, a late, duplicate or forged one) is dropped here and
 * costs JavaScript nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "addon.h"
#include "echo_port.h"
#include "echo_socket.h"

static void release(echo_port *port) {
  if (--port->references == 0) free(port);
}

static void on_closed(uv_handle_t *handle) {
  echo_port *port = (echo_port *)handle;
  close(port->fd);
  napi_remove_async_cleanup_hook(port->cleanup);
  release(port);
}

static void close_port(echo_port *port) {
  if (port->closing) return;
  port->closing = true;
  uv_poll_stop(&port->poll);
  napi_delete_reference(port->env, port->replies_ref);
  napi_delete_reference(port->env, port->on_replies);
  napi_delete_reference(port->env, port->on_errors);
  napi_async_destroy(port->env, port->context);
  uv_close((uv_handle_t *)&port->poll, on_closed);
}

/* The thread or process exits: Node waits until on_closed has removed the hook. */
static void on_cleanup(napi_async_cleanup_hook_handle handle, void *data) {
  (void)handle;
  close_port(data);
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  echo_port *port = data;
  close_port(port);
  release(port);
}

/*
 * openEcho(family 4 or 6, raw, replies Float64Array, onReplies(count), onErrors(count, senders), helper?, source?,
 * whole?): a port, or a negative errno. `helper`: the file of a program that opens raw sockets; absent or empty = none.
 * `source` and `whole`: as for limit_echo_socket.
 */
static napi_value open_echo(napi_env env, napi_callback_info info) {
  size_t count = 8;
  napi_value arguments[8];
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 5) {
    return refuse(env, "openEcho takes five arguments, or up to eight");
  }
  int32_t version;
  bool raw, whole = false;
  char helper[PATH_MAX], source[INET6_ADDRSTRLEN + IF_NAMESIZE + 1] = "";
  size_t source_length;
  size_t helper_length = 0;
  napi_typedarray_type type;
  size_t length;
  void *data;
  if (napi_get_value_int32(env, arguments[0], &version) != napi_ok || (version != 4 && version != 6) ||
      napi_get_value_bool(env, arguments[1], &raw) != napi_ok ||
      napi_get_typedarray_info(env, arguments[2], &type, &length, &data, NULL, NULL) != napi_ok ||
      type != napi_float64_array || length < REPLIES_MAX * FIELDS ||
      (count > 5 &&
       napi_get_value_string_utf8(env, arguments[5], helper, sizeof helper, &helper_length) != napi_ok) ||
      (count > 6 &&
       napi_get_value_string_utf8(env, arguments[6], source, sizeof source, &source_length) != napi_ok) ||
      (count > 7 && napi_get_value_bool(env, arguments[7], &whole) != napi_ok)) {
    return refuse(env, "openEcho: family, boolean, Float64Array, two functions, and perhaps file, address, boolean");
  }
  int family = version == 4 ? AF_INET : AF_INET6;
  uint16_t id;
  if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id) id = (uint16_t)getpid();
  int fd = open_echo_socket(family, raw, helper_length > 0 ? helper : NULL, id);
  if (fd < 0) return int_value(env, fd);
  int refused = limit_echo_socket(fd, family, source, whole);
  if (refused != 0) {
    close(fd);
    return int_value(env, -refused);
  }
  /* The kernel zeroes it page by page: unused slots take no memory. */
  echo_port *port = calloc(1, sizeof *port);
  uv_loop_t *loop;
  if (port == NULL || napi_get_uv_event_loop(env, &loop) != napi_ok || uv_poll_init(loop, &port->poll, fd) != 0) {
    free(port);
    close(fd);
    return int_value(env, -ENOMEM);
  }
  port->fd = fd;
  port->family = family;
  port->raw = raw;
  port->whole = whole;
  port->env = env;
  port->replies = data;
  port->references = 2;
  port->id = id;
  napi_value name, result;
  napi_create_string_utf8(env, "icmp", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, NULL, name, &port->context);
  napi_create_reference(env, arguments[2], 1, &port->replies_ref);
  napi_create_reference(env, arguments[3], 1, &port->on_replies);
  napi_create_reference(env, arguments[4], 1, &port->on_errors);
  napi_add_async_cleanup_hook(env, on_cleanup, port, &port->cleanup);
  echo_listen(port);
  if (napi_create_external(env, port, on_collected, NULL, &result) != napi_ok) {
    port->references = 1;
    close_port(port);
    return NULL;
  }
  return result;
}

static echo_port *port_of(napi_env env, napi_value value) {
  void *data;
  return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}

static bool random_token(echo_port *port, uint8_t *token) {
  if (port->random_left < TOKEN) {
    if (getrandom(port->random, sizeof port->random, 0) != (ssize_t)sizeof port->random) return false;
    port->random_left = sizeof port->random;
  }
  port->random_left -= TOKEN;
  memcpy(token, port->random + port->random_left, TOKEN);
  return true;
}

/*
 * Sets the last two bytes of the token so that the checksum of the packet does not depend on the sequence number and
 * the token. Routers that spread their load look at it: all requests to a target then take one route.
 */
static void keep_checksum(uint8_t *packet) {
  uint32_t sum = 0;
  for (size_t i = 6; i < HEADER + TOKEN - 2; i += 2) sum += (uint32_t)(packet[i] << 8 | packet[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  packet[HEADER + TOKEN - 2] = (uint8_t)(~sum >> 8);
  packet[HEADER + TOKEN - 1] = (uint8_t)~sum;
}

/* sendEcho(port, sequence, address, payloadBytes, ttl or 0): 0 or a negative errno. */
static napi_value send_echo(napi_env env, napi_callback_info info) {
  size_t count = 5;
  napi_value arguments[5];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  echo_port *port = count == 5 ? port_of(env, arguments[0]) : NULL;
  uint32_t sequence, payload;
  int32_t ttl;
  char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
  size_t length;
  if (port == NULL || napi_get_value_uint32(env, arguments[1], &sequence) != napi_ok || sequence >= SLOTS ||
      napi_get_value_string_utf8(env, arguments[2], text, sizeof text, &length) != napi_ok ||
      napi_get_value_uint32(env, arguments[3], &payload) != napi_ok ||
      napi_get_value_int32(env, arguments[4], &ttl) != napi_ok) {
    return refuse(env, "sendEcho takes a port, a sequence number, an address, a size and a TTL");
  }
  if (port->closing) return int_value(env, -EBADF);
  if (payload < PAYLOAD_MIN || payload > (port->whole ? PAYLOAD_MAX : PAYLOAD_USUAL_MAX)) return int_value(env, -EMSGSIZE);
  if (ttl < 0 || ttl > 255) return int_value(env, -EINVAL);
  slot *request = &port->slots[sequence];
  if (request->used) return int_value(env, -EBUSY);
  struct sockaddr_storage address;
  socklen_t address_length = parse_address(port->family, text, &address);
  if (address_length == 0) return int_value(env, -EINVAL);

  uint8_t packet[HEADER + PAYLOAD_MAX];
  size_t size = HEADER + payload;
  packet[0] = port->family == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST;
  packet[1] = packet[2] = packet[3] = 0;
  memcpy(packet + 4, &port->id, 2);
  packet[6] = (uint8_t)(sequence >> 8);
  packet[7] = (uint8_t)sequence;
  if (!random_token(port, packet + HEADER)) return int_value(env, -EAGAIN);
  keep_checksum(packet);
  for (size_t i = TOKEN; i < payload; i++) packet[HEADER + i] = (uint8_t)i;
  if (port->raw && port->family == AF_INET) {
    uint16_t sum = checksum(packet, size);
    memcpy(packet + 2, &sum, 2);
  }
  memcpy(request->token, packet + HEADER, TOKEN);
  memcpy(request->address, address_bytes(port, &address), port->family == AF_INET ? 4 : 16);
  request->payload = (uint16_t)payload;

  struct iovec vector = {packet, size};
  union {
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_name = &address,
      .msg_namelen = address_length,
      .msg_iov = &vector,
      .msg_iovlen = 1,
  };
  if (ttl > 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header.cmsg_level = port->family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    control.header.cmsg_type = port->family == AF_INET ? IP_TTL : IPV6_HOPLIMIT;
    control.header.cmsg_len = CMSG_LEN(sizeof ttl);
    memcpy(CMSG_DATA(&control.header), &ttl, sizeof ttl);
  }
  /* The kernel reports the error of another request to the next sender, once, so send again. */
  int error = 0;
  for (int tries = 0; tries < 4; tries++) {
    request->sent_ns = clock_ns(CLOCK_MONOTONIC);
    error = sendmsg(port->fd, &message, MSG_DONTWAIT) < 0 ? errno : 0;
    if (error == 0 || error == EAGAIN || error == ENOBUFS) break;
  }
  if (error == 0) request->used = true;
  return int_value(env, -error);
}

/* readErrors(port): reports the errors that have arrived before it returns. */
static napi_value read_errors_call(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  echo_port *port = count == 1 ? port_of(env, argument) : NULL;
  if (port == NULL) return refuse(env, "readErrors takes a port");
  if (!port->closing && !port->in_call) read_errors_now(port);
  return NULL;
}

/* forgetEcho(port, sequence): frees the sequence number of a request that nobody waits for any more. */
static napi_value forget_echo(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  echo_port *port = count == 2 ? port_of(env, arguments[0]) : NULL;
  uint32_t sequence;
  if (port == NULL || napi_get_value_uint32(env, arguments[1], &sequence) != napi_ok || sequence >= SLOTS) {
    return refuse(env, "forgetEcho takes a port and a sequence number");
  }
  port->slots[sequence].used = false;
  return NULL;
}

/* closeEcho(port): closes it immediately and permanently; repeated calls are harmless. */
static napi_value close_echo(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  echo_port *port = count == 1 ? port_of(env, argument) : NULL;
  if (port == NULL) return refuse(env, "closeEcho takes a port");
  close_port(port);
  return NULL;
}

bool export_echo(napi_env env, napi_value exports) {
  return export_function(env, exports, "openEcho", open_echo) && export_function(env, exports, "sendEcho", send_echo) &&
         export_function(env, exports, "readErrors", read_errors_call) &&
         export_function(env, exports, "forgetEcho", forget_echo) &&
         export_function(env, exports, "closeEcho", close_echo);
}
