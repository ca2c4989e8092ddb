/*
 * An accurate target: an HTTP server on loopback that answers every request after about DELAY_MS. The header x-delay-ms has the
 * actual delay, from the arrival of the request's bytes to the answer. It is written in C with one epoll, so that no garbage
 * collection of the target is mistaken for an error of the measured program.
 * Argument: the delay in ms. Prints its port; exits when standard input ends.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WAITING = 65536, MAX_EVENTS = 256 };

typedef struct { int fd; long long arrived; long long due; } Waiting;

/* All delays are equal, so waiting requests are in order and a ring is enough. */
static Waiting ring[MAX_WAITING];
static unsigned head, tail;

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void answer(const Waiting *waiting) {
  char text[256];
  int length = snprintf(text, sizeof text,
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\nx-delay-ms: %.3f\r\n\r\nok",
    (now_ns() - waiting->arrived) / 1e6);
  if (write(waiting->fd, text, length) < 0) perror("write");
}

int main(int argc, char **argv) {
  long long delay = (argc > 1 ? atoll(argv[1]) : 50) * 1000000LL;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0) return perror("listen"), 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("{\"port\":%d}\n", ntohs(address.sin_port));
  fflush(stdout);

  int poll = epoll_create1(0);
  struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  event.data.fd = STDIN_FILENO;
  epoll_ctl(poll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
  for (;;) {
    struct timespec patience = { 3600, 0 };
    if (head != tail) {
      long long left = ring[head % MAX_WAITING].due - now_ns();
      if (left < 0) left = 0;
      patience = (struct timespec){ left / 1000000000LL, left % 1000000000LL };
    }
    struct epoll_event events[MAX_EVENTS];
    int count = epoll_pwait2(poll, events, MAX_EVENTS, &patience, NULL);
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd == STDIN_FILENO) return 0;
      if (fd == listener) {
        for (int peer; (peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
          int on = 1;
          setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          event = (struct epoll_event){ .events = EPOLLIN, .data.fd = peer };
          epoll_ctl(poll, EPOLL_CTL_ADD, peer, &event);
        }
        continue;
      }
      char bytes[16384];
      ssize_t got = read(fd, bytes, sizeof bytes);
      if (got <= 0) {
        close(fd);
        continue;
      }
      if (tail - head == MAX_WAITING || memmem(bytes, got, "\r\n\r\n", 4) == NULL) continue;
      long long arrived = now_ns();
      ring[tail++ % MAX_WAITING] = (Waiting){ fd, arrived, arrived + delay };
    }
    for (; head != tail && ring[head % MAX_WAITING].due <= now_ns(); head++) answer(&ring[head % MAX_WAITING]);
  }
}
