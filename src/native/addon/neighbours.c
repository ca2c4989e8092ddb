/*
 * readNeighbours6(): the IPv6 neighbours of this host, which /proc does not show, asked of the kernel by rtnetlink(7). A
 * text with one line per neighbour, `ADDRESS 1` if its hardware address is known (it may be old) and `ADDRESS 0` if not;
 * or a negative errno. Asking sends nothing and needs no privileges.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "addon.h"

/* More neighbours than that are left out; a gateway is among the first in any network of a usual size. */
#define MAX_TEXT (64 * 1024)
#define LINE (INET6_ADDRSTRLEN + 4)

struct listing {
  size_t length;
  char text[MAX_TEXT];
};

static void add(struct listing *list, const struct nlmsghdr *message) {
  const struct ndmsg *neighbour = NLMSG_DATA(message);
  const int unknown = NUD_INCOMPLETE | NUD_FAILED;
  if (message->nlmsg_len < NLMSG_LENGTH(sizeof *neighbour)) return;
  /* A state of 0 says nothing yet. */
  if (neighbour->ndm_family != AF_INET6 || neighbour->ndm_state == 0) return;
  size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof *neighbour);
  const struct rtattr *field = (const void *)((const char *)neighbour + NLMSG_ALIGN(sizeof *neighbour));
  for (; RTA_OK(field, left); field = RTA_NEXT(field, left)) {
    char address[INET6_ADDRSTRLEN];
    if (field->rta_type != NDA_DST || RTA_PAYLOAD(field) != sizeof(struct in6_addr)) continue;
    if (list->length + LINE > MAX_TEXT) return;
    if (inet_ntop(AF_INET6, RTA_DATA(field), address, sizeof address) == NULL) return;
    list->length += (size_t)snprintf(list->text + list->length, LINE, "%s %d\n", address,
                                     (neighbour->ndm_state & unknown) == 0);
  }
}

/* 1 = the end of the list, 0 = more follows, or a negative errno. */
static int take(struct listing *list, struct nlmsghdr *message, size_t left) {
  for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
    if (message->nlmsg_type == NLMSG_DONE) return 1;
    if (message->nlmsg_type == NLMSG_ERROR) {
      const struct nlmsgerr *error = NLMSG_DATA(message);
      return error->error < 0 ? error->error : -EPROTO;
    }
    if (message->nlmsg_type == RTM_NEWNEIGH) add(list, message);
  }
  return 0;
}

static int ask(int socket, struct listing *list) {
  struct {
    struct nlmsghdr header;
    struct ndmsg neighbour;
  } request = {.header = {.nlmsg_len = sizeof request,
                          .nlmsg_type = RTM_GETNEIGH,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .neighbour = {.ndm_family = AF_INET6}};
  /* The kernel answers at once; the limit only guards the event loop. */
  const struct timeval limit = {.tv_usec = 100 * 1000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (send(socket, &request, sizeof request, 0) < 0) return -errno;
  for (;;) {
    _Alignas(struct nlmsghdr) char buffer[32 * 1024];
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if (count == 0) return -EPROTO;
    const int end = take(list, (struct nlmsghdr *)buffer, (size_t)count);
    if (end != 0) return end < 0 ? end : 0;
  }
}

static napi_value read_neighbours6(napi_env env, napi_callback_info info) {
  (void)info;
  struct listing list;
  list.length = 0;
  const int socket_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket_fd < 0) return int_value(env, -errno);
  const int error = ask(socket_fd, &list);
  close(socket_fd);
  if (error < 0) return int_value(env, error);
  napi_value text = NULL;
  napi_create_string_utf8(env, list.text, list.length, &text);
  return text;
}

bool export_neighbours(napi_env env, napi_value exports) {
  return export_function(env, exports, "readNeighbours6", read_neighbours6);
}
