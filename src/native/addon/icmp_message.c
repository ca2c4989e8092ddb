/* ICMP messages in the error queues of sockets: which router or host reports what about which packet. */
#define _GNU_SOURCE
#include "icmp_message.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <string.h>
#include <time.h>

#include "clock.h"

static uint64_t waited_since(const struct timespec *stamp) {
  uint64_t arrived = (uint64_t)stamp->tv_sec * 1000000000u + (uint64_t)stamp->tv_nsec;
  uint64_t wall = clock_ns(CLOCK_REALTIME);
  return wall > arrived ? wall - arrived : 0;
}

/* Takes one entry of the queue. Returns 1 if it is such a message, 0 if it is something else, -1 if there is none. */
static int take_entry(int fd, icmp_message *message) {
  union {
    struct cmsghdr header;
    uint8_t bytes[512];
  } control;
  struct iovec vector = {message->quoted, sizeof message->quoted};
  struct msghdr entry = {
      .msg_name = &message->target,
      .msg_namelen = sizeof message->target,
      .msg_iov = &vector,
      .msg_iovlen = 1,
      .msg_control = &control,
      .msg_controllen = sizeof control,
  };
  ssize_t length = recvmsg(fd, &entry, MSG_ERRQUEUE | MSG_DONTWAIT);
  if (length < 0) return -1;
  message->quoted_length = (size_t)length;
  message->target_length = entry.msg_namelen;
  message->waited_ns = 0;
  const struct sock_extended_err *error = NULL;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&entry); c != NULL; c = CMSG_NXTHDR(&entry, c)) {
    if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR)) {
      error = (const struct sock_extended_err *)CMSG_DATA(c);
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec stamp;
      memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
      message->waited_ns = waited_since(&stamp);
    }
  }
  if (error == NULL || (error->ee_origin != SO_EE_ORIGIN_ICMP && error->ee_origin != SO_EE_ORIGIN_ICMP6)) return 0;
  message->type = error->ee_type;
  message->code = error->ee_code;
  message->error = (int)error->ee_errno;
  const struct sockaddr *sender = SO_EE_OFFENDER(error);
  message->family = AF_UNSPEC;
  memset(message->from, 0, sizeof message->from);
  if (sender->sa_family == AF_INET) {
    memcpy(message->from, &((const struct sockaddr_in *)sender)->sin_addr, 4);
    message->family = AF_INET;
  } else if (sender->sa_family == AF_INET6) {
    memcpy(message->from, &((const struct sockaddr_in6 *)sender)->sin6_addr, 16);
    message->family = AF_INET6;
  }
  return 1;
}

bool take_icmp_message(int fd, icmp_message *message) {
  int taken;
  do taken = take_entry(fd, message);
  while (taken == 0);
  return taken > 0;
}

void sender_text(int family, const uint8_t from[16], char text[ADDRESS_TEXT]) {
  text[0] = '\0';
  if (family != AF_UNSPEC) inet_ntop(family, from, text, ADDRESS_TEXT);
}

double rtt_ms(uint64_t sent_ns, uint64_t now_ns, uint64_t waited_ns) {
  uint64_t since = now_ns > sent_ns ? now_ns - sent_ns : 0;
  return (double)(waited_ns < since ? since - waited_ns : since) / 1e6;
}
