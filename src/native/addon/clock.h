#ifndef LOCATION_AGENT_CLOCK_H
#define LOCATION_AGENT_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock. */
static inline uint64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
