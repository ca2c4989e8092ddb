/*
 * The control data of messages. Only what cannot lead to another address passes. Descriptors are replaced by copies,
 * because their numbers would mean the supervisor's own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "network.h"

/* The source routes of IP do not pass. */
static bool is_passed_on(const struct cmsghdr *header) {
  switch (header->cmsg_level) {
    case IPPROTO_IP:
      return header->cmsg_type == IP_TOS || header->cmsg_type == IP_TTL || header->cmsg_type == IP_PKTINFO;
    case IPPROTO_IPV6:
      return header->cmsg_type == IPV6_TCLASS || header->cmsg_type == IPV6_HOPLIMIT || header->cmsg_type == IPV6_PKTINFO;
    case IPPROTO_UDP:
      return header->cmsg_type == 103 /* UDP_SEGMENT */;
    default:
      return false;
  }
}

static int copy_rights(pid_t pid, struct control *control, char *numbers, size_t bytes) {
  for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
    int number;
    if (control->count == sizeof control->copies / sizeof *control->copies) return EINVAL;
    memcpy(&number, numbers + at, sizeof number);
    int copy = copy_descriptor(pid, number);
    if (copy < 0) return errno == EBADF ? EBADF : EPERM;
    control->copies[control->count++] = copy;
    memcpy(numbers + at, &copy, sizeof copy);
  }
  return 0;
}

/* Steps from header to header exactly as the kernel does: a header that is only seen there would pass unchanged. */
int translate_control(pid_t pid, bool is_local, struct control *control) {
  for (size_t at = 0; at + sizeof(struct cmsghdr) <= control->length;) {
    struct cmsghdr header;
    memcpy(&header, control->bytes + at, sizeof header);
    if (header.cmsg_len < sizeof header || header.cmsg_len > control->length - at) return EINVAL;
    if (is_local && header.cmsg_level == SOL_SOCKET && header.cmsg_type == SCM_RIGHTS) {
      int error = copy_rights(pid, control, control->bytes + at + CMSG_LEN(0), header.cmsg_len - CMSG_LEN(0));
      if (error != 0) return error;
    } else if (!is_passed_on(&header)) {
      return EPERM;
    }
    at += CMSG_ALIGN(header.cmsg_len);
  }
  return 0;
}

void close_rights(struct control *control) {
  while (control->count > 0) close(control->copies[--control->count]);
}
