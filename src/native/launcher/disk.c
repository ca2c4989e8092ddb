/* Bytes below the writable folders. Follows no links and stops at a maximum number of files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

enum { deepest = 64, between_looks = 256, work_ms = 2 };

static size_t max_files;
static bool (*is_busy)(void);
static bool stopped;
static double rested_at;

static double processor_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec * 1000 + (double)used.tv_nsec / 1e6;
}

/* The supervisor has priority over other processes, so it sleeps half of the time to leave it to them. */
static void rest(void) {
  double worked_ms = processor_ms() - rested_at;
  if (worked_ms < work_ms) return;
  struct timespec pause = {(time_t)(worked_ms / 1000), (long)(worked_ms * 1e6) % 1000000000L};
  nanosleep(&pause, NULL);
  rested_at = processor_ms();
}

static uint64_t bytes_below(int parent, const char *name, int depth, size_t *files) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return 0;
  DIR *folder = fdopendir(fd);
  if (folder == NULL) {
    close(fd);
    return 0;
  }
  uint64_t sum = 0;
  struct dirent *entry;
  while (*files < max_files && (entry = readdir(folder)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    struct stat status;
    (*files)++;
    /* A request to end must not wait for hundreds of thousands of files. */
    if (*files % between_looks == 0) {
      stopped = is_busy();
      if (!stopped) rest();
    }
    if (stopped) break;
    if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    sum += (uint64_t)status.st_blocks * 512;
    if (!S_ISDIR(status.st_mode)) continue;
    /* No legitimate program nests folders this deep. */
    if (depth == deepest) *files = max_files;
    else sum += bytes_below(fd, entry->d_name, depth + 1, files);
  }
  closedir(folder);
  return sum;
}

uint64_t written_bytes(const struct plan *plan, bool (*busy)(void)) {
  uint64_t sum = 0;
  max_files = plan->files;
  is_busy = busy;
  stopped = false;
  rested_at = processor_ms();
  size_t files = 0;
  for (size_t at = 0; at < plan->rule_count; at++) {
    if (plan->rules[at].access == access_write) sum += bytes_below(AT_FDCWD, plan->rules[at].path, 0, &files);
  }
  if (stopped) return 0;
  return files >= max_files ? UINT64_MAX : sum;
}
