/*
 * Probes of a flow (flow.h). All of them use one socket, without privileges.
 *
 * A probe by TCP is the SYN of a connection, which is given up as soon as it is answered. Since Linux 5.8, an
 * unprivileged user learns which router dropped it. The kernel itself ignores late messages about earlier SYNs, whose
 * sequence numbers differ. A probe by UDP is one datagram, and its mark tells late messages apart. flow_echo.c has those
 * by ICMP.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "../clock.h"
#include "flow.h"
#include "../icmp_message.h"

static bool is_v4(const flow *one) { return one->family == AF_INET; }

static int ip_level(const flow *one) { return is_v4(one) ? (int)IPPROTO_IP : (int)IPPROTO_IPV6; }

static int bind_source(const flow *one, int fd) {
  struct sockaddr_storage own;
  memset(&own, 0, sizeof own);
  own.ss_family = (sa_family_t)one->family;
  if (is_v4(one)) {
    ((struct sockaddr_in *)&own)->sin_port = one->source_port;
  } else {
    ((struct sockaddr_in6 *)&own)->sin6_port = one->source_port;
  }
  return bind(fd, (struct sockaddr *)&own, one->target_length);
}

/* 0 or an errno. */
static int open_socket(flow *one) {
  int kind = one->tcp ? SOCK_STREAM : SOCK_DGRAM;
  int fd = socket(one->family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  /* The kernel gives each TCP socket a flow label of its own, which routers count as part of the flow. */
  if (!is_v4(one)) setsockopt(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, &off, sizeof off);
  if (one->tcp) {
    /* One SYN is one probe, and an answered connection leaves nothing behind. */
    struct linger at_once = {1, 0};
    setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  if (setsockopt(fd, ip_level(one), is_v4(one) ? IP_RECVERR : IPV6_RECVERR, &on, sizeof on) != 0 ||
      bind_source(one, fd) != 0 ||
      (!one->tcp && connect(fd, (struct sockaddr *)&one->target, one->target_length) != 0)) {
    int error = errno;
    close(fd);
    return error;
  }
  one->fd = fd;
  return 0;
}

void close_flow_socket(flow *one) {
  if (one->fd < 0) return;
  unwatch_socket(one);
  one->is_connecting = false;
  close(one->fd);
  one->fd = -1;
}

void drop_late_answers(const flow *one) {
  icmp_message message;
  uint8_t byte;
  if (one->fd < 0) return;
  while (take_icmp_message(one->fd, &message)) continue;
  if (!one->tcp) {
    while (recv(one->fd, &byte, sizeof byte, MSG_DONTWAIT) >= 0) continue;
  }
}

void give_up_probe(flow *one) {
  const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
  if (!one->is_connecting) return;
  one->is_connecting = false;
  if (connect(one->fd, &nowhere, sizeof nowhere) != 0) close_flow_socket(one);
  /* What has arrived until now was for that probe. */
  else drop_late_answers(one);
}

static int send_syn(flow *one, int ttl) {
  give_up_probe(one);
  int error = one->fd < 0 ? open_socket(one) : 0;
  if (error != 0) return error;
  if (setsockopt(one->fd, ip_level(one), is_v4(one) ? IP_TTL : IPV6_UNICAST_HOPS, &ttl, sizeof ttl) != 0) return errno;
  one->is_connecting = true;
  one->refused = 0;
  one->sent_ns = clock_ns(CLOCK_MONOTONIC);
  if (connect(one->fd, (struct sockaddr *)&one->target, one->target_length) == 0 || errno == EINPROGRESS) return 0;
  /* Targets and routers on this host answer within the call. Other errors are the own system's. */
  one->refused = errno;
  return one->refused == ECONNREFUSED || one->refused == EHOSTUNREACH ? 0 : one->refused;
}

int send_parts(flow *one, int ttl, struct iovec parts[2]) {
  union {
    struct cmsghdr header;
    uint8_t bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  control.header.cmsg_level = ip_level(one);
  control.header.cmsg_type = is_v4(one) ? IP_TTL : IPV6_HOPLIMIT;
  control.header.cmsg_len = CMSG_LEN(sizeof ttl);
  memcpy(CMSG_DATA(&control.header), &ttl, sizeof ttl);
  const struct msghdr message = {
      .msg_iov = parts,
      .msg_iovlen = 2,
      .msg_control = &control,
      .msg_controllen = sizeof control,
  };
  int error = 0;
  /* A message about an earlier probe makes one call fail. */
  for (int tries = 0; tries < 4; tries++) {
    one->sent_ns = clock_ns(CLOCK_MONOTONIC);
    if (sendmsg(one->fd, &message, MSG_DONTWAIT) >= 0) return 0;
    error = errno;
  }
  return error;
}

static int send_datagram(flow *one, int ttl) {
  int error = one->fd < 0 ? open_socket(one) : 0;
  if (error != 0) return error;
  /* The mark. */
  if (++one->question[1] == 0) one->question[0]++;
  struct iovec parts[2] = {{NULL, 0}, {one->question, one->question_length}};
  return send_parts(one, ttl, parts);
}

int send_flow_probe(flow *one, int ttl) {
  if (is_echo(one)) return send_echo_probe(one, ttl);
  return one->tcp ? send_syn(one, ttl) : send_datagram(one, ttl);
}

/* A message is late if it quotes enough of another datagram than the one in flight. */
static bool is_late(const flow *one, const icmp_message *message) {
  if (is_echo(one)) return is_other_echo(one, message);
  return !one->tcp && message->quoted_length >= MARK && memcmp(message->quoted, one->question, MARK) != 0;
}

static bool read_message(const flow *one, uint64_t now_ns, probe_answer *answer) {
  icmp_message message;
  while (take_icmp_message(one->fd, &message)) {
    if (is_late(one, &message)) continue;
    answer->kind = ROUTER_ANSWERED;
    answer->type = message.type;
    answer->code = message.code;
    answer->rtt = rtt_ms(one->sent_ns, now_ns, message.waited_ns);
    answer->family = message.family;
    memcpy(answer->from, message.from, sizeof answer->from);
    return true;
  }
  return false;
}

static bool read_handshake(const flow *one, probe_answer *answer) {
  struct tcp_info info;
  socklen_t size = sizeof info;
  int error = one->refused;
  if (error == 0) {
    if (getsockopt(one->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
    if (info.tcpi_state == TCP_SYN_SENT) return false;
    size = sizeof error;
    getsockopt(one->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    /* The handshake as measured by the kernel, so that a busy process does not distort it. */
    double kernels = (double)info.tcpi_rtt / 1e3;
    if (error == 0 && kernels > 0 && kernels < answer->rtt) answer->rtt = kernels;
  }
  answer->kind = error == 0 || error == ECONNREFUSED || error == ECONNRESET ? TARGET_ANSWERED : FAILED_HERE;
  answer->error = error;
  return true;
}

static bool read_datagram(const flow *one) {
  uint8_t byte;
  for (int tries = 0; tries < 2; tries++) {
    if (recv(one->fd, &byte, sizeof byte, MSG_DONTWAIT) >= 0) return true;
    /* A dropped message leaves its error behind, which hides what is behind it from one call. */
    if (errno == EAGAIN) return false;
  }
  return false;
}

bool read_answer(flow *one, uint32_t events, probe_answer *answer) {
  uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  *answer = (probe_answer){.kind = NOBODY_ANSWERED, .type = -1, .code = -1, .rtt = rtt_ms(one->sent_ns, now_ns, 0)};
  if (read_message(one, now_ns, answer)) return true;
  /* A reply of a near target is there already, and reading in vain costs less than a wait. */
  if (is_echo(one)) return read_echo_reply(one, now_ns, answer);
  if (events == 0 && one->refused == 0) return false;
  if (one->tcp) return read_handshake(one, answer);
  if (!read_datagram(one)) return false;
  answer->kind = TARGET_ANSWERED;
  return true;
}
