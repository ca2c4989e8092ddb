/* Flows of a trace (flow.h): the interface to JavaScript. */
#define _GNU_SOURCE
#include "flow.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../echo_socket.h"

static void close_flow(flow *one) {
  if (one->closed) return;
  one->closed = true;
  one->in_round = false;
  forget_flow(one);
  close_flow_socket(one);
  napi_delete_reference(one->env, one->on_round);
  napi_delete_reference(one->env, one->numbers_ref);
}

static void free_flow(flow *one) {
  release_watch(one->watch);
  free(one);
}

static void on_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  close_flow(data);
  free_flow(data);
}

static void set_port(flow *one, uint32_t port) {
  if (one->family == AF_INET) {
    ((struct sockaddr_in *)&one->target)->sin_port = htons((uint16_t)port);
  } else {
    ((struct sockaddr_in6 *)&one->target)->sin6_port = htons((uint16_t)port);
  }
}

/*
 * openFlow(family 4 or 6, way, address, port, sourcePort, question Uint8Array, numbers Float64Array, onRound): a flow,
 * or a negative errno. `way`: probe_way. `question` is the payload of datagrams and echo requests.
 */
static napi_value open_flow(napi_env env, napi_callback_info info) {
  size_t count = 8;
  napi_value arguments[8];
  int32_t version, way;
  char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
  size_t length, question_length, numbers_length;
  uint32_t port, source_port;
  napi_typedarray_type question_type, numbers_type;
  void *question, *numbers;
  napi_valuetype callback;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 8 ||
      napi_get_value_int32(env, arguments[0], &version) != napi_ok || (version != 4 && version != 6) ||
      napi_get_value_int32(env, arguments[1], &way) != napi_ok || way < BY_UDP || way > BY_RAW_SOCKET ||
      napi_get_value_string_utf8(env, arguments[2], text, sizeof text, &length) != napi_ok ||
      napi_get_value_uint32(env, arguments[3], &port) != napi_ok || port < 1 || port > 65535 ||
      napi_get_value_uint32(env, arguments[4], &source_port) != napi_ok || source_port < 1 || source_port > 65535 ||
      napi_get_typedarray_info(env, arguments[5], &question_type, &question_length, &question, NULL, NULL) != napi_ok ||
      question_type != napi_uint8_array || question_length < MARK || question_length > QUESTION_MAX ||
      napi_get_typedarray_info(env, arguments[6], &numbers_type, &numbers_length, &numbers, NULL, NULL) != napi_ok ||
      numbers_type != napi_float64_array || numbers_length < ROUND_NUMBERS ||
      napi_typeof(env, arguments[7], &callback) != napi_ok || callback != napi_function) {
    return refuse(env, "openFlow takes a family, a way, an address, two ports, 2 to 64 bytes, numbers and a function");
  }
  flow *one = calloc(1, sizeof *one);
  if (one == NULL) return int_value(env, -ENOMEM);
  one->family = version == 4 ? AF_INET : AF_INET6;
  one->target_length = parse_address(one->family, text, &one->target);
  one->watch = one->target_length == 0 ? NULL : watch_of(env);
  if (one->watch == NULL) {
    int error = one->target_length == 0 ? EINVAL : ENOMEM;
    free(one);
    return int_value(env, -error);
  }
  one->way = (probe_way)way;
  one->tcp = way == BY_TCP;
  one->fd = -1;
  one->env = env;
  one->source_port = htons((uint16_t)source_port);
  one->numbers = numbers;
  one->question_length = question_length;
  memcpy(one->question, question, question_length);
  if (is_echo(one)) {
    /* Traces of one flow have the same id, so their sequence numbers begin at different places. */
    one->sequence = (uint16_t)(one->question[0] << 8 | one->question[1]);
    /* Known at once, so that another way can be taken. A taken id is found out when the first probe is sent. */
    int error = open_echo_flow(one);
    if (error == EACCES || error == EPERM || error == EAFNOSUPPORT || error == EPROTONOSUPPORT) {
      free_flow(one);
      return int_value(env, -error);
    }
  } else {
    set_port(one, port);
  }
  napi_value result;
  if (napi_create_external(env, one, on_collected, NULL, &result) != napi_ok) {
    close_flow_socket(one);
    free_flow(one);
    return NULL;
  }
  napi_create_reference(env, arguments[6], 1, &one->numbers_ref);
  napi_create_reference(env, arguments[7], 1, &one->on_round);
  return result;
}

flow *flow_of(napi_env env, napi_value value) {
  void *data;
  return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}

/* closeFlow(flow): closes it immediately and permanently; repeated calls are harmless. */
static napi_value close_flow_call(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  flow *one = count == 1 ? flow_of(env, argument) : NULL;
  if (one == NULL) return refuse(env, "closeFlow takes a flow");
  close_flow(one);
  return NULL;
}

bool export_flow(napi_env env, napi_value exports) {
  return export_function(env, exports, "openFlow", open_flow) &&
         export_function(env, exports, "closeFlow", close_flow_call) && export_flow_round(env, exports);
}
