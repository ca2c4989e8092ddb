#ifndef LOCATION_AGENT_ICMP_MESSAGE_H
#define LOCATION_AGENT_ICMP_MESSAGE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT = INET6_ADDRSTRLEN };

/* An ICMP message about a packet of a socket. */
typedef struct {
  int type;
  int code;
  int error; /* the errno that the kernel derives from them */
  int family; /* of its sender; AF_UNSPEC = unknown */
  uint8_t from[16];
  /* How long it waited in the socket, if the kernel provides a timestamp. */
  uint64_t waited_ns;
  /* Where the packet was sent to. */
  struct sockaddr_storage target;
  socklen_t target_length;
  /* What follows the headers of the kernel in the packet, as much as the message quotes. */
  uint8_t quoted[64];
  size_t quoted_length;
} icmp_message;

/* Takes the next ICMP message from the error queue of a socket; false if there is none. */
bool take_icmp_message(int fd, icmp_message *message);

/* The sender as text, empty if it is unknown. */
void sender_text(int family, const uint8_t from[16], char text[ADDRESS_TEXT]);

/*
 * Milliseconds since a packet was sent. The kernel's timestamp uses the wall clock, which may be set at any time, so
 * only the waiting time in the socket is taken from it, and only if it is plausible.
 */
double rtt_ms(uint64_t sent_ns, uint64_t now_ns, uint64_t waited_ns);

#endif
