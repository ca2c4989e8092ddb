/* The kernel's side of a capture: a packet socket with a filter and a ring of a fixed size. */
#ifndef LOCATION_AGENT_CAPTURE_RING_H
#define LOCATION_AGENT_CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int fd;
  uint8_t *ring;
  int references; /* one of JavaScript, and one of work in progress */
  bool taken;
} capture;

/* Opens socket and ring. `helper` opens the socket if this process may not; empty = no helper. 0 or a negative errno. */
int open_ring(capture *one, void *program, size_t instructions, const char *helper);

/* Closes both; more than once is fine. */
void close_ring(capture *one);

/* Replaces the filter; the kernel checks the program itself. 0 or a negative errno. */
int attach_filter(int fd, void *program, size_t instructions);

/* Copies all packets into new memory at `*out` (the form of takeCapture) and sets its size. 0 or a negative errno. */
int read_ring(capture *one, uint8_t **out, size_t *size);

#endif
