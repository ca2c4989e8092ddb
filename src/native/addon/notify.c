/*
 * notifyManager(path, message): sends one datagram to the service manager's socket, as sd_notify(3) does. 0 or a negative
 * errno. A path that begins with `@` is an abstract address. Never waits: a full socket gives -EAGAIN.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "addon.h"

static int send_to(const char *path, size_t length, const char *message, size_t size) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (length == 0 || length >= sizeof address.sun_path) return -ENAMETOOLONG;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  socklen_t used = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  ssize_t sent = sendto(fd, message, size, MSG_NOSIGNAL, (const struct sockaddr *)&address, used);
  int result = sent == (ssize_t)size ? 0 : -errno;
  close(fd);
  return result;
}

static napi_value notify_manager(napi_env env, napi_callback_info info) {
  napi_value arguments[2];
  size_t count = 2, length = 0, size = 0;
  char path[256], message[256];
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  if (count < 2 || napi_get_value_string_utf8(env, arguments[0], path, sizeof path, &length) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[1], message, sizeof message, &size) != napi_ok)
    return refuse(env, "notifyManager: two strings are needed");
  return int_value(env, send_to(path, length, message, size));
}

bool export_notify(napi_env env, napi_value exports) {
  return export_function(env, exports, "notifyManager", notify_manager);
}
