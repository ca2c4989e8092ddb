/* The kernel side of a capture: a packet socket with a filter and a ring of a fixed size. */
#ifndef LOCATION_AGENT_CAPTURE_RING_H
#define LOCATION_AGENT_CAPTURE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int fd;
  uint8_t *ring;
  int references; /* one from JavaScript, and one from work in progress */
  bool taken;
} capture;

/*
 * Opens socket and ring. `helper` opens the socket if this process lacks the capability; empty = no helper. 0 or a
 * negative errno.
 */
int open_ring(capture *one, void *program, size_t instructions, const char *helper);

/* Closes both; repeated calls are harmless. */
void close_ring(capture *one);

/* Replaces the filter; the kernel checks the program itself. 0 or a negative errno. */
int attach_filter(int fd, void *program, size_t instructions);

/* Copies all packets to new memory at `*out` (in takeCapture's format) and sets its size. 0 or a negative errno. */
int read_ring(capture *one, uint8_t **out, size_t *size);

#endif
