/*
 * The rules for destinations, in the agent's order: the first that matches decides. A rule is
 * `allow|deny|deny-here @ ADDRESS/BITS @ FIRST-LAST`, with IPv4 addresses as IPv6 ones. `deny-here` matches the ports
 * of every address of this machine.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "network.h"

enum verdict { verdict_allow, verdict_deny, verdict_deny_here };

struct network_rule {
  enum verdict verdict;
  struct in6_addr network;
  unsigned bits;
  uint16_t first_port, last_port;
};

enum { max_rules = 1024, max_reports = 50 };
static struct network_rule rules[max_rules];
static size_t rule_count;

bool add_network_rule(const char *text) {
  char verdict[16], address[INET6_ADDRSTRLEN];
  unsigned bits, first, last;
  int end = 0;
  if (rule_count == max_rules) return false;
  if (sscanf(text, "%15[a-z-]@%45[0-9a-f:.]/%u@%u-%u%n", verdict, address, &bits, &first, &last, &end) != 5) return false;
  if (text[end] != '\0' || bits > 128 || first > last || last > 65535) return false;
  struct network_rule *rule = &rules[rule_count];
  if (inet_pton(AF_INET6, address, &rule->network) != 1) return false;
  if (strcmp(verdict, "allow") == 0) rule->verdict = verdict_allow;
  else if (strcmp(verdict, "deny") == 0) rule->verdict = verdict_deny;
  else if (strcmp(verdict, "deny-here") == 0) rule->verdict = verdict_deny_here;
  else return false;
  rule->bits = bits;
  rule->first_port = (uint16_t)first;
  rule->last_port = (uint16_t)last;
  rule_count++;
  return true;
}

bool read_destination(const struct sockaddr_storage *address, socklen_t length, bool is_stream,
                      struct destination *destination) {
  *destination = (struct destination){.is_stream = is_stream};
  if (address->ss_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    destination->address.s6_addr[10] = destination->address.s6_addr[11] = 0xff;
    memcpy(destination->address.s6_addr + 12, &v4->sin_addr, 4);
    destination->port = ntohs(v4->sin_port);
    return true;
  }
  /* The kernel accepts addresses without their last field, sin6_scope_id. */
  if (address->ss_family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    destination->address = v6->sin6_addr;
    destination->port = ntohs(v6->sin6_port);
    return true;
  }
  return false;
}

static bool is_in(const struct in6_addr *address, const struct network_rule *rule) {
  unsigned whole = rule->bits / 8, rest = rule->bits % 8;
  if (memcmp(address, &rule->network, whole) != 0) return false;
  if (rest == 0) return true;
  return ((address->s6_addr[whole] ^ rule->network.s6_addr[whole]) >> (8 - rest)) == 0;
}

/* Whether the address is this machine's: the kernel then sends from the same address. */
static bool is_of_this_machine(const struct in6_addr *address) {
  if (is_loopback(address)) return true;
  struct sockaddr_storage there = {0}, here = {0};
  socklen_t length = sizeof here;
  bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
  if (is_v4) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)&there;
    *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(9)};
    memcpy(&v4->sin_addr, address->s6_addr + 12, 4);
  } else {
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&there;
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = *address};
  }
  int probe = socket(there.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  bool same = connect(probe, (struct sockaddr *)&there, is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)) == 0 &&
              getsockname(probe, (struct sockaddr *)&here, &length) == 0 &&
              (is_v4 ? memcmp(&((struct sockaddr_in *)&here)->sin_addr, address->s6_addr + 12, 4) == 0
                     : memcmp(&((struct sockaddr_in6 *)&here)->sin6_addr, address, 16) == 0);
  close(probe);
  return same;
}

static bool rules_allow_address(const struct destination *destination) {
  for (size_t at = 0; at < rule_count; at++) {
    const struct network_rule *rule = &rules[at];
    if (destination->port < rule->first_port || destination->port > rule->last_port) continue;
    if (rule->verdict == verdict_deny_here) {
      if (is_of_this_machine(&destination->address)) return false;
    } else if (is_in(&destination->address, rule)) {
      return rule->verdict == verdict_allow;
    }
  }
  return false;
}

/* An address and every address that it carries must be allowed. */
static bool rules_allow(const struct destination *destination) {
  struct in6_addr carried[max_carried];
  struct destination meaning = *destination;
  if (!rules_allow_address(destination)) return false;
  for (size_t left = carried_addresses(&destination->address, carried); left > 0; left--) {
    meaning.address = carried[left - 1];
    if (!rules_allow_address(&meaning)) return false;
  }
  return true;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void report_refused(const struct destination *destination) {
  static struct destination reported[max_reports];
  static size_t count;
  char text[INET6_ADDRSTRLEN];
  pthread_mutex_lock(&lock);
  bool known = count == max_reports;
  for (size_t at = 0; at < count && !known; at++) known = memcmp(&reported[at], destination, sizeof *destination) == 0;
  if (!known) {
    reported[count++] = *destination;
    if (IN6_IS_ADDR_V4MAPPED(&destination->address)) inet_ntop(AF_INET, destination->address.s6_addr + 12, text, sizeof text);
    else inet_ntop(AF_INET6, &destination->address, text, sizeof text);
    report_event("refused %s %u", text, destination->port);
  }
  pthread_mutex_unlock(&lock);
}

void report_refused_path(const char *path) {
  static size_t count;
  char text[128];
  size_t at = 0;
  for (; path[at] != '\0' && at < sizeof text - 1; at++) text[at] = path[at] > ' ' && path[at] < 127 ? path[at] : '?';
  text[at] = '\0';
  pthread_mutex_lock(&lock);
  if (count++ < max_reports) report_event("refused %s 0", text);
  pthread_mutex_unlock(&lock);
}

int judge(const struct destination *destination) {
  if (rules_allow(destination)) return 0;
  if (is_loopback(&destination->address)) {
    switch (listener_at(destination)) {
      case listener_own:
        return 0;
      case listener_none: /* as without rules; programs ask until their server listens */
        return ECONNREFUSED;
      case listener_foreign:
        break;
    }
  }
  report_refused(destination);
  return is_loopback(&destination->address) ? ECONNREFUSED : EACCES;
}
