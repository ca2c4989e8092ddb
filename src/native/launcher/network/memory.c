/* Reads what a call of the program points to, and writes its answer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "network.h"

/* Container profiles often forbid process_vm_readv, but not this file. */
static bool read_memory_file(pid_t pid, uint64_t address, void *into, size_t length) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t got = pread(fd, into, length, (off_t)address);
  close(fd);
  return got == (ssize_t)length;
}

bool read_memory(pid_t pid, uint64_t address, void *into, size_t length) {
  if (length == 0) return true;
  struct iovec own = {into, length}, theirs = {(void *)(uintptr_t)address, length};
  ssize_t got = process_vm_readv(pid, &own, 1, &theirs, 1, 0);
  if (got == (ssize_t)length) return true;
  return got < 0 && errno != EFAULT && errno != ESRCH && read_memory_file(pid, address, into, length);
}

void write_memory(pid_t pid, uint64_t address, const void *from, size_t length) {
  struct iovec own = {(void *)(uintptr_t)from, length}, theirs = {(void *)(uintptr_t)address, length};
  if (process_vm_writev(pid, &own, 1, &theirs, 1, 0) == (ssize_t)length) return;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t written = pwrite(fd, from, length, (off_t)address);
  (void)written; /* the program then sees an old length */
  close(fd);
}
