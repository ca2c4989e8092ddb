#ifndef LOCATION_AGENT_ECHO_SOCKET_H
#define LOCATION_AGENT_ECHO_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Opens an ICMP socket of AF_INET or AF_INET6 that reports TTLs, arrival times and errors; a negative errno on
 * failure. A raw socket receives replies with `id` (network order) only; the other kind has an id chosen by the
 * kernel. With `helper` (a file path, NULL = none) that program opens the raw socket.
 */
int open_echo_socket(int family, bool raw, const char *helper, uint16_t id);

/*
 * Opens one for a single target, to which it is to be connected: without what only hundreds of requests at once need,
 * and whose setting costs as much as a trace. A negative errno on failure.
 */
int open_single_echo_socket(int family, bool raw);

/*
 * Sends all requests from an address in text (empty = the system chooses), and never in fragments if so wanted: IPv4
 * packets then carry "don't fragment". 0 or an errno.
 */
int limit_echo_socket(int fd, int family, char *source, bool whole);

/*
 * Converts an address in text, IPv6 with an optional %zone (the text is cut there), for sendmsg; returns its length
 * or 0.
 */
socklen_t parse_address(int family, char *text, struct sockaddr_storage *address);

/* RFC 1071 checksum, in network order; the kernel computes it for all but raw IPv4. */
uint16_t checksum(const uint8_t *bytes, size_t length);

#endif
