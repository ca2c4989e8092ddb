/*
 * The program's environment is not inherited from the launcher: variables such as LD_PRELOAD would then act on the
 * launcher, which is not confined. It is sent over the agent's line: a length in decimal, a newline, then NAME=value
 * entries, each with a terminating zero byte.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher.h"

enum { max_bytes = 8 * 1024 * 1024 };

static bool read_whole(char *into, size_t length) {
  while (length > 0) {
    ssize_t got = read(agent_line, into, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    length -= (size_t)got;
  }
  return true;
}

char **read_environment(void) {
  size_t length = 0;
  for (;;) {
    char digit;
    if (!read_whole(&digit, 1)) return NULL;
    if (digit == '\n') break;
    if (digit < '0' || digit > '9') return NULL;
    length = length * 10 + (size_t)(digit - '0');
    if (length > max_bytes) return NULL;
  }
  char *block = malloc(length + 1);
  if (block == NULL || !read_whole(block, length)) return NULL;
  block[length] = '\0';
  size_t count = 0;
  for (size_t at = 0; at < length; at++) count += block[at] == '\0';
  if (length > 0 && block[length - 1] != '\0') return NULL;
  char **variables = calloc(count + 1, sizeof *variables);
  if (variables == NULL) return NULL;
  char *at = block;
  for (size_t index = 0; index < count; index++) {
    variables[index] = at;
    while (*at++ != '\0') continue;
  }
  return variables;
}
