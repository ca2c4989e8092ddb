/*
 * The agent's native addon: Linux features that Node does not offer. Plain N-API, so that one build works with every
 * Node.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "addon.h"

bool export_function(napi_env env, napi_value exports, const char *name, napi_callback function) {
  napi_value value;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, function, NULL, &value) == napi_ok &&
         napi_set_named_property(env, exports, name, value) == napi_ok;
}

napi_value refuse(napi_env env, const char *message) {
  napi_throw_type_error(env, NULL, message);
  return NULL;
}

napi_value int_value(napi_env env, int value) {
  napi_value result = NULL;
  napi_create_int32(env, value, &result);
  return result;
}

/* setNonDumpable(): 0 or a negative errno. Other processes of the same user then cannot read this process's memory. */
static napi_value set_non_dumpable(napi_env env, napi_callback_info info) {
  (void)info;
  return int_value(env, prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -errno);
}

/*
 * glibc gives each thread that allocates its own heap and returns little freed memory: V8's compiler threads keep 100
 * MB of the service that way. Two heaps are enough for all threads, because nothing here allocates often in C.
 */
static void share_heaps(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 2);
#endif
}

NAPI_MODULE_INIT() {
  share_heaps();
  if (!export_function(env, exports, "setNonDumpable", set_non_dumpable)) return NULL;
  if (!export_echo(env, exports) || !export_trace(env, exports) || !export_flow(env, exports)) return NULL;
  if (!export_capture(env, exports)) return NULL;
  if (!export_neighbours(env, exports) || !export_notify(env, exports)) return NULL;
  if (!export_tls_peer(env, exports)) return NULL;
  return exports;
}
