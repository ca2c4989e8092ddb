/* The sockets of echo ports. */
#define _GNU_SOURCE
#include "echo_socket.h"
#include "raw_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>

/* linux/icmp.h defines it, but cannot be included with net/if.h on all systems. */
#ifndef ICMP_FILTER
#define ICMP_FILTER 1
#endif

uint16_t checksum(const uint8_t *bytes, size_t length) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < length; i += 2) sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
  if (length & 1) sum += (uint32_t)bytes[length - 1] << 8;
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return htons((uint16_t)~sum);
}

static int set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value);
}

/* Accept only packets with the port's id, or a raw socket would queue the replies to all pings of this host. */
static void accept_only(int fd, int family, uint16_t id) {
  struct sock_filter of_v4[] = {
      BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* length of the IP header */
      BPF_STMT(BPF_LD | BPF_H | BPF_IND, 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohs(id), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_filter of_v6[] = {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohs(id), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog filter = family == AF_INET ? (struct sock_fprog){sizeof of_v4 / sizeof *of_v4, of_v4}
                                               : (struct sock_fprog){sizeof of_v6 / sizeof *of_v6, of_v6};
  setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

static int open_socket(int family, bool raw) {
  int protocol = family == AF_INET ? (int)IPPROTO_ICMP : (int)IPPROTO_ICMPV6;
  int fd = socket(family, (raw ? SOCK_RAW : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  return fd < 0 ? -errno : fd;
}

/* Options that a sandbox's kernel refuses are skipped: replies then have no TTL, or errors count as loss. */
static void set_usual_options(int fd, int family, bool raw) {
  set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  if (family == AF_INET) {
    set_option(fd, IPPROTO_IP, IP_RECVERR, 1);
    if (raw) {
      set_option(fd, SOL_RAW, ICMP_FILTER, (int)~(1u << ICMP_ECHOREPLY)); /* one bit per type to drop */
    }
  } else {
    set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
    if (raw) {
      struct icmp6_filter only_replies;
      ICMP6_FILTER_SETBLOCKALL(&only_replies);
      ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &only_replies);
      setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &only_replies, sizeof only_replies);
    }
  }
}

int open_echo_socket(int family, bool raw, const char *helper, uint16_t id) {
  int fd = raw && helper != NULL ? open_by_helper(helper, family) : open_socket(family, raw);
  if (fd < 0) return fd;
  if (raw) accept_only(fd, family, id);
  set_usual_options(fd, family, raw);
  /* Hundreds of replies may arrive while the loop is busy, and a dropped one would count against the target. */
  if (set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20) != 0) set_option(fd, SOL_SOCKET, SO_RCVBUF, 4 << 20);
  if (family == AF_INET) set_option(fd, IPPROTO_IP, IP_RECVTTL, 1);
  else set_option(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  return fd;
}

int open_single_echo_socket(int family, bool raw) {
  int fd = open_socket(family, raw);
  if (fd >= 0) set_usual_options(fd, family, raw);
  return fd;
}

int limit_echo_socket(int fd, int family, char *source, bool whole) {
  struct sockaddr_storage own;
  /* As "probe": a smaller MTU that was learned for the route must not turn the request into an error of this host. */
  if (whole && family == AF_INET && set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) != 0) return errno;
  if (source[0] == '\0') return 0;
  socklen_t length = parse_address(family, source, &own);
  if (length == 0) return EADDRNOTAVAIL;
  return bind(fd, (struct sockaddr *)&own, length) == 0 ? 0 : errno;
}

socklen_t parse_address(int family, char *text, struct sockaddr_storage *address) {
  memset(address, 0, sizeof *address);
  if (family == AF_INET) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    v4->sin_family = AF_INET;
    return inet_pton(AF_INET, text, &v4->sin_addr) == 1 ? sizeof *v4 : 0;
  }
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
  v6->sin6_family = AF_INET6;
  char *zone = strchr(text, '%');
  if (zone != NULL) {
    *zone++ = '\0';
    v6->sin6_scope_id = if_nametoindex(zone);
    if (v6->sin6_scope_id == 0) v6->sin6_scope_id = (uint32_t)strtoul(zone, NULL, 10);
    if (v6->sin6_scope_id == 0) return 0;
  }
  return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1 ? sizeof *v6 : 0;
}
