/*
 * raw-socket 4
 *
 * 6
 *
 * packets: opens a raw socket for ICMP or ICMPv6, or a packet socket that receives nothing yet, passes it to its
 * parent over descriptor 3, and exits.
 *
 * An agent that is not root gets the capability NET_RAW only through a file that has it (setcap cap_net_raw+ep). That
 * file must not be Node: a program with file capabilities ignores Node's variables for certificates and options, and
 * a container without NET_RAW could not start it at all. So this program does the one thing that needs the
 * capability. Programs started by customers' scripts have no_new_privs set, which disables the file's capability.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { PARENT = 3 };

int main(int argc, char **argv) {
  const char *kind = argc == 2 ? argv[1] : "";
  int fd;
  if (strcmp(kind, "4") == 0) {
    fd = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP);
  } else if (strcmp(kind, "6") == 0) {
    fd = socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6);
  } else if (strcmp(kind, "packets") == 0) {
    fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  } else {
    return 64;
  }
  int error = fd < 0 ? errno : 0;
  struct iovec content = {&error, sizeof error};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof fd)];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
  if (error == 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  return sendmsg(PARENT, &message, MSG_NOSIGNAL) == (ssize_t)sizeof error ? 0 : 1;
}
