/*
 * IPv6 addresses that carry an IPv4 address, which a gateway or the system may connect to. The same forms as in
 * src/addresses/embedded-ipv4.ts.
 */
#include <string.h>

#include "network.h"

static bool is_zero(const uint8_t *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) {
    if (bytes[at] != 0) return false;
  }
  return true;
}

static size_t add(struct in6_addr *carried, size_t count, const uint8_t *four) {
  memset(&carried[count], 0, sizeof carried[count]);
  memset(carried[count].s6_addr + 10, 0xff, 2);
  memcpy(carried[count].s6_addr + 12, four, 4);
  return count + 1;
}

/* RFC 6052, 2.2: behind a prefix of 48, 56 or 64 bits the address lies around byte 8, which is 0. */
static size_t add_after_prefix(struct in6_addr *carried, const uint8_t *bytes) {
  size_t count = 0;
  for (size_t at = 6; at <= 8 && bytes[8] == 0; at++) {
    uint8_t place[9];
    size_t length = 0;
    for (size_t byte = at; byte < 16; byte++) {
      if (byte != 8 && length < sizeof place) place[length++] = bytes[byte];
    }
    if (is_zero(place + 4, length - 4)) count = add(carried, count, place);
  }
  /* The address of a short prefix ends in zeros, which are no address of their own. */
  if (count > 0 && is_zero(bytes + 12, 4)) return count;
  return add(carried, count, bytes + 12);
}

size_t carried_addresses(const struct in6_addr *address, struct in6_addr carried[max_carried]) {
  const uint8_t *bytes = address->s6_addr;
  static const uint8_t nat64[] = {0, 0x64, 0xff, 0x9b};
  if (IN6_IS_ADDR_V4MAPPED(address) || (is_zero(bytes, 15) && bytes[15] <= 1)) return 0;
  if (is_zero(bytes, 12)) return add(carried, 0, bytes + 12);
  if (is_zero(bytes, 8) && bytes[8] == 0xff && bytes[9] == 0xff && is_zero(bytes + 10, 2)) return add(carried, 0, bytes + 12);
  if (memcmp(bytes, nat64, 4) == 0 && is_zero(bytes + 4, 8)) return add(carried, 0, bytes + 12);
  if (memcmp(bytes, nat64, 4) == 0 && bytes[4] == 0 && bytes[5] == 1) return add_after_prefix(carried, bytes);
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return add(carried, 0, bytes + 2);
  if (bytes[0] == 0x20 && bytes[1] == 0x01 && is_zero(bytes + 2, 2)) {
    uint8_t client[4];
    for (size_t at = 0; at < 4; at++) client[at] = bytes[12 + at] ^ 0xff;
    return add(carried, add(carried, 0, bytes + 4), client);
  }
  if ((bytes[8] & ~2) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe) return add(carried, 0, bytes + 12);
  return 0;
}
