/*
 * health-probe [PORT [PATH]]: requests a page of 127.0.0.1 and exits with 0 if the answer is 200, else with 1. It is for
 * HEALTHCHECK, in images that have neither a shell nor curl. Without arguments it requests the agent's liveness on
 * AGENT_HEALTH_PORT. If nothing listens there, the container may run the service, so it tries /health on SERVICE_PORT.
 *
 * It is a separate program to protect the agent's key. A HEALTHCHECK gets the container's whole environment, and a script of
 * the same user could read that from /proc. The program's file is executable but not readable, so the kernel shows its /proc
 * entries to root only, from the first instruction on.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Returns NULL if the answer was 200, else the reason. Sets *is_deaf if nothing listens on the port. */
static const char *ask(const char *port_text, const char *path, int *is_deaf) {
  static char answer[16];
  char *end;
  long port = strtol(port_text, &end, 10);
  if (*end != '\0' || port < 1 || port > 65535) return "no port number";

  char request[512];
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", path);
  if (length < 0 || (size_t)length >= sizeof request) return "the path is too long";

  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "no socket";
  struct timeval limit = {.tv_sec = 3};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    *is_deaf = 1;
    return "nothing listens";
  }
  if (write(fd, request, (size_t)length) != length) return "the request was not sent";

  size_t have = 0;
  while (have < sizeof "HTTP/1.1 200" - 1) {
    ssize_t got = read(fd, answer + have, sizeof answer - 1 - have);
    if (got <= 0) return "no answer";
    have += (size_t)got;
  }
  answer[sizeof "HTTP/1.1 200" - 1] = '\0';
  return strncmp(answer, "HTTP/1.", 7) == 0 && strncmp(answer + 8, " 200", 4) == 0 ? NULL : answer;
}

static const char *variable(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value != NULL && *value != '\0' ? value : otherwise;
}

int main(int argc, char **argv) {
  int is_deaf = 0;
  const char *why = ask(argc > 1 ? argv[1] : variable("AGENT_HEALTH_PORT", "8081"), argc > 2 ? argv[2] : "/-/liveness", &is_deaf);
  if (why != NULL && is_deaf && argc == 1 && ask(variable("SERVICE_PORT", "4400"), "/health", &is_deaf) == NULL) return 0;
  if (why == NULL) return 0;
  fprintf(stderr, "health-probe: %s\n", why);
  return 1;
}
