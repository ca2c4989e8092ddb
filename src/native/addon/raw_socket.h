#ifndef LOCATION_AGENT_RAW_SOCKET_H
#define LOCATION_AGENT_RAW_SOCKET_H

/*
 * A raw socket for ICMP (AF_INET) or ICMPv6 (AF_INET6), or a packet socket without a protocol (AF_PACKET), from the
 * helper `file`. Returns a negative errno on failure: EPERM if neither this process nor the file has the capability.
 * Waits for the helper, some milliseconds.
 */
int open_by_helper(const char *file, int family);

#endif
