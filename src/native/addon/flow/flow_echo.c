/*
 * Echo requests of a flow (flow.h), by a socket of its own. Their id is the source port, and the checksum of all of
 * them is the same: routers that spread their load look at both.
 *
 * A reply counts only if it has the sequence number and the payload of the request in flight, and comes from the target.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../clock.h"
#include "../echo_socket.h"
#include "flow.h"

enum { ECHO_HEADER = 8, IP_HEADER_MIN = 20, IP_HEADER_MAX = 60, READS_MAX = 64 };

bool is_echo(const flow *one) { return one->way == BY_PING_SOCKET || one->way == BY_RAW_SOCKET; }

static bool is_raw_v4(const flow *one) { return one->way == BY_RAW_SOCKET && one->family == AF_INET; }

/* The unprivileged kind of socket takes its id from the port that it is bound to. */
static int bind_id(const flow *one, int fd) {
  struct sockaddr_storage own;
  memset(&own, 0, sizeof own);
  own.ss_family = (sa_family_t)one->family;
  if (one->family == AF_INET) ((struct sockaddr_in *)&own)->sin_port = one->source_port;
  else ((struct sockaddr_in6 *)&own)->sin6_port = one->source_port;
  return bind(fd, (struct sockaddr *)&own, one->target_length);
}

int open_echo_flow(flow *one) {
  bool is_raw = one->way == BY_RAW_SOCKET;
  int fd = open_single_echo_socket(one->family, is_raw);
  if (fd < 0) return -fd;
  if ((!is_raw && bind_id(one, fd) != 0) || connect(fd, (struct sockaddr *)&one->target, one->target_length) != 0) {
    int error = errno;
    close(fd);
    return error;
  }
  one->fd = fd;
  return 0;
}

static void write_header(const flow *one, uint8_t header[ECHO_HEADER]) {
  memset(header, 0, ECHO_HEADER);
  header[0] = one->family == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST;
  memcpy(header + 4, &one->source_port, 2);
  header[6] = (uint8_t)(one->sequence >> 8);
  header[7] = (uint8_t)one->sequence;
}

/* Sets the first two bytes of the payload so that the checksum depends on neither the sequence number nor the payload. */
static void keep_checksum(flow *one) {
  uint32_t sum = one->sequence;
  for (size_t i = MARK; i + 1 < one->question_length; i += 2) {
    sum += (uint32_t)(one->question[i] << 8 | one->question[i + 1]);
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  one->question[0] = (uint8_t)(~sum >> 8);
  one->question[1] = (uint8_t)~sum;
}

int send_echo_probe(flow *one, int ttl) {
  int error = one->fd < 0 ? open_echo_flow(one) : 0;
  if (error != 0) return error;
  uint8_t packet[ECHO_HEADER + QUESTION_MAX];
  one->sequence++;
  keep_checksum(one);
  write_header(one, packet);
  memcpy(packet + ECHO_HEADER, one->question, one->question_length);
  if (is_raw_v4(one)) {
    uint16_t sum = checksum(packet, ECHO_HEADER + one->question_length);
    memcpy(packet + 2, &sum, 2);
  }
  struct iovec parts[2] = {{packet, ECHO_HEADER}, {packet + ECHO_HEADER, one->question_length}};
  return send_parts(one, ttl, parts);
}

/* Whether id and sequence number are those of the request in flight. Type and checksum of a reply are others. */
static bool is_in_flight(const flow *one, const uint8_t header[ECHO_HEADER]) {
  uint8_t expected[ECHO_HEADER];
  write_header(one, expected);
  return memcmp(header + 4, expected + 4, 4) == 0;
}

bool is_other_echo(const flow *one, const icmp_message *message) {
  /* Messages quote at least eight bytes (RFC 792), most of them the whole request. */
  if (message->quoted_length < ECHO_HEADER || !is_in_flight(one, message->quoted)) return true;
  size_t length = message->quoted_length - ECHO_HEADER;
  if (length > one->question_length) length = one->question_length;
  return memcmp(message->quoted + ECHO_HEADER, one->question, length) != 0;
}

static bool is_from_target(const flow *one, const struct sockaddr_storage *source) {
  static const uint8_t unspecified[16];
  if (one->family == AF_INET) {
    const struct in_addr *target = &((const struct sockaddr_in *)&one->target)->sin_addr;
    return target->s_addr == INADDR_ANY ||
           target->s_addr == ((const struct sockaddr_in *)source)->sin_addr.s_addr;
  }
  const struct in6_addr *target = &((const struct sockaddr_in6 *)&one->target)->sin6_addr;
  return memcmp(target, unspecified, sizeof unspecified) == 0 ||
         memcmp(target, &((const struct sockaddr_in6 *)source)->sin6_addr, sizeof *target) == 0;
}

static bool is_reply(const flow *one, const uint8_t *packet, size_t length) {
  if (is_raw_v4(one)) { /* it includes the IP header */
    size_t header = length < IP_HEADER_MIN ? 0 : (size_t)(packet[0] & 0x0f) * 4;
    if (header < IP_HEADER_MIN || length < header) return false;
    packet += header;
    length -= header;
  }
  uint8_t type = one->family == AF_INET ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY;
  return length == ECHO_HEADER + one->question_length && packet[0] == type && packet[1] == 0 &&
         is_in_flight(one, packet) && memcmp(packet + ECHO_HEADER, one->question, one->question_length) == 0;
}

/* How long a packet waited in the socket, if the kernel provides a timestamp. */
static uint64_t waited_in(struct msghdr *message) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec stamp;
    memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
    uint64_t arrived = (uint64_t)stamp.tv_sec * 1000000000u + (uint64_t)stamp.tv_nsec;
    uint64_t wall = clock_ns(CLOCK_REALTIME);
    return wall > arrived ? wall - arrived : 0;
  }
  return 0;
}

bool read_echo_reply(const flow *one, uint64_t now_ns, probe_answer *answer) {
  uint8_t packet[IP_HEADER_MAX + ECHO_HEADER + QUESTION_MAX + 1];
  union {
    struct cmsghdr header;
    uint8_t bytes[512];
  } control;
  /* More of them, which nobody but this host's own programs should send, cause another turn. */
  for (int reads = 0, failures = 0; reads < READS_MAX && failures < 2; reads++) {
    struct sockaddr_storage source;
    struct iovec vector = {packet, sizeof packet};
    struct msghdr message = {
        .msg_name = &source,
        .msg_namelen = sizeof source,
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t length = recvmsg(one->fd, &message, MSG_DONTWAIT);
    if (length < 0) {
      if (errno == EAGAIN) return false;
      /* A dropped message leaves its error behind, which hides what is behind it from one call. */
      failures++;
    } else if (is_reply(one, packet, (size_t)length) && is_from_target(one, &source)) {
      answer->kind = TARGET_ANSWERED;
      answer->rtt = rtt_ms(one->sent_ns, now_ns, waited_in(&message));
      return true;
    }
  }
  return false;
}
