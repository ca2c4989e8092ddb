/*
 * Resource usage of all descendants, and how to kill them. They cannot escape: this process is their subreaper, so it
 * becomes the parent of daemonised processes. One pass reads /proc, which every kernel has.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

struct process {
  pid_t pid;
  pid_t parent;
  pid_t group;
  bool ours;
  char state;
  unsigned long threads;
  unsigned long rss_kilobytes;
};

static struct process *table;
static size_t table_size, table_room;

/*
 * From /proc/PID/status, not from stat: since Linux 6.18 a reader of stat waits while the process is in an exec.
 * Among the hundreds of a fork bomb an exec may get no processor time for seconds, and the supervisor would wait for
 * it.
 */
static bool read_process(int proc, const char *name, struct process *process) {
  /* Large enough for a process with thousands of groups, whose line comes before the lines that count here. */
  char path[32], text[32768];
  snprintf(path, sizeof path, "%.16s/status", name);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = '\0';
  *process = (struct process){.pid = (pid_t)atoi(name), .threads = 1};
  bool has_parent = false;
  /* The program chose the name in the first line, in which the kernel escapes newlines. */
  for (char *line = strchr(text, '\n'); line != NULL; line = strchr(line, '\n')) {
    line++;
    if (sscanf(line, "State: %c", &process->state) == 1) continue;
    if (sscanf(line, "PPid: %d", &process->parent) == 1) has_parent = true;
    else if (sscanf(line, "NSpgid: %d", &process->group) == 1) continue;
    else if (sscanf(line, "VmRSS: %lu", &process->rss_kilobytes) == 1) continue;
    else if (sscanf(line, "Threads: %lu", &process->threads) == 1) break;
  }
  return has_parent;
}

/* Fields that only stat has; see above. False = unknown. */
struct times {
  unsigned long ticks; /* of processor time, including reaped children */
  unsigned long long began; /* start time in ticks since the machine started */
};

static bool read_times(pid_t pid, struct times *times) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = '\0';
  /* The name in parentheses may contain anything, including parentheses. */
  char *rest = strrchr(text, ')');
  if (rest == NULL) return false;
  unsigned long user, system;
  long waited_user, waited_system;
  if (sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %*d %*d %llu", &user, &system,
             &waited_user, &waited_system, &times->began) != 5) {
    return false;
  }
  times->ticks = user + system + (unsigned long)waited_user + (unsigned long)waited_system;
  return true;
}

/* Its own processor time, which can be read without waiting. */
static double seconds_of(pid_t pid) {
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* One bit per process id, so that thousands of processes cost one step each. Ids are below 2^22 on every Linux. */
enum { max_ids = 1 << 22 };
static unsigned char ours_bits[max_ids / 8];

static bool is_ours(pid_t pid) { return pid > 0 && pid < max_ids && (ours_bits[pid / 8] & (1U << (pid % 8))) != 0; }

static bool mark(struct process *process, pid_t self) {
  if (process->ours || process->pid >= max_ids || (process->parent != self && !is_ours(process->parent))) return false;
  ours_bits[process->pid / 8] |= (unsigned char)(1U << (process->pid % 8));
  return process->ours = true;
}

/* The descendants that a pass has stopped, until release_descendants. */
enum { max_held = 8192 };
static pid_t held[max_held];
static size_t held_count;

static bool hold(const struct process *process) {
  /* Processes that the program stopped itself stay stopped. */
  if (held_count == max_held || process->state == 'T' || process->state == 'Z') return false;
  if (kill(process->pid, SIGSTOP) != 0) return false;
  held[held_count++] = process->pid;
  return true;
}

/*
 * Reads all processes and marks the descendants. If there are more than `max_running` of them, they are stopped while the
 * pass is still in progress, which leaves their processor time to this pass. Returns how many were stopped.
 */
static size_t read_table(size_t max_running) {
  pid_t self = getpid();
  size_t ours = 0, stopped = 0;
  table_size = 0;
  memset(ours_bits, 0, sizeof ours_bits);
  DIR *folder = opendir("/proc");
  if (folder == NULL) return 0;
  struct dirent *entry;
  while ((entry = readdir(folder)) != NULL) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    if (table_size == table_room) {
      size_t room = table_room == 0 ? 256 : table_room * 2;
      struct process *larger = realloc(table, room * sizeof *table);
      if (larger == NULL) break;
      table = larger;
      table_room = room;
    }
    if (!read_process(dirfd(folder), entry->d_name, &table[table_size])) continue;
    struct process *process = &table[table_size++];
    /* /proc lists by id, and most parents have a lower one. */
    if (!mark(process, self) || ++ours <= max_running) continue;
    for (size_t at = ours == max_running + 1 ? 0 : table_size - 1; at < table_size; at++) {
      if (table[at].ours) stopped += hold(&table[at]);
    }
  }
  closedir(folder);
  for (bool grew = true; grew;) {
    grew = false;
    for (size_t at = 0; at < table_size; at++) {
      if (!mark(&table[at], self)) continue;
      grew = true;
      if (++ours > max_running) stopped += hold(&table[at]);
    }
  }
  return stopped;
}

void release_descendants(void) {
  for (size_t at = 0; at < held_count; at++) kill(held[at], SIGCONT);
  held_count = 0;
}

void measure_descendants(struct usage *usage, size_t max_running, bool in_a_crowd) {
  size_t stopped = read_table(max_running);
  struct rusage waited;
  getrusage(RUSAGE_CHILDREN, &waited);
  double ticks_per_second = (double)sysconf(_SC_CLK_TCK);
  *usage = (struct usage){.stopped = stopped};
  usage->cpu_seconds = (double)(waited.ru_utime.tv_sec + waited.ru_stime.tv_sec);
  for (size_t at = 0; at < table_size; at++) {
    if (!table[at].ours) continue;
    struct times times;
    usage->processes++;
    usage->threads += table[at].threads;
    usage->rss_bytes += (uint64_t)table[at].rss_kilobytes * 1024;
    if (in_a_crowd) usage->cpu_seconds += seconds_of(table[at].pid);
    else if (read_times(table[at].pid, &times)) usage->cpu_seconds += (double)times.ticks / ticks_per_second;
  }
}

/* Threads of the complete machine, from one small read: also an upper bound for one user. 0 = unknown. */
unsigned long threads_of_machine(void) {
  char text[128];
  unsigned long count = 0;
  int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length > 0 ? length : 0] = '\0';
  return sscanf(text, "%*s %*s %*s %*u/%lu", &count) == 1 ? count : 0;
}

/*
 * Shared pages count once, because a browser's processes share many. Expensive, so only used if the plain sum is too
 * high.
 */
uint64_t proportional_bytes_of_descendants(void) {
  uint64_t sum = 0;
  for (size_t at = 0; at < table_size; at++) {
    if (!table[at].ours) continue;
    char path[40], line[128];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", table[at].pid);
    FILE *file = fopen(path, "re");
    unsigned long kilobytes = 0;
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
      found = sscanf(line, "Pss: %lu kB", &kilobytes) == 1;
    }
    if (file != NULL) fclose(file);
    sum += found ? (uint64_t)kilobytes * 1024 : (uint64_t)table[at].rss_kilobytes * 1024;
  }
  return sum;
}

/* Reaps until no child is left (true) or the time is over. SIGCHLD is blocked here, so that none is missed. */
bool reap_within(long milliseconds) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  struct timespec now, until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += milliseconds % 1000 * 1000000L;
  for (;;) {
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) continue;
    if (ended < 0 && errno == ECHILD) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long left = (until.tv_sec - now.tv_sec) * 1000000000L + until.tv_nsec - now.tv_nsec;
    if (left <= 0) return false;
    struct timespec timeout = {left / 1000000000L, left % 1000000000L};
    sigtimedwait(&ends, NULL, &timeout);
  }
}

enum { few = 16 };

/*
 * Kills until none is left: the next pass finds a process that forks faster than one pass. Complete groups come
 * first, because the kernel then includes processes that are just being forked. A bomb that gives each process its
 * own group is slower because of it. A few processes take some milliseconds to die, during which passes over /proc
 * would only take processor time from them; in a crowd, some may still be forking.
 */
void kill_descendants(void) {
  pid_t own = getpgrp();
  for (long patience = 1;; patience = patience < 10 ? patience * 2 : 10) {
    if (reap_within(0)) return;
    read_table(SIZE_MAX);
    size_t killed = 0;
    pid_t last = 0;
    for (size_t at = 0; at < table_size; at++) {
      const struct process *process = &table[at];
      if (!process->ours || process->state == 'Z') continue;
      /*
       * Only our processes are in it, because the program started a session. Processes that have not appeared yet are
       * in this one's group.
       */
      if (process->group > 1 && process->group != own && process->group != last) kill(-(last = process->group), SIGKILL);
      kill(process->pid, SIGKILL);
      killed++;
    }
    if (killed > few) usleep(300);
    else if (reap_within(patience)) return;
  }
}

void signal_descendants(int number, pid_t except) {
  read_table(SIZE_MAX);
  for (size_t at = 0; at < table_size; at++) {
    if (table[at].ours && table[at].pid != except && table[at].state != 'Z') kill(table[at].pid, number);
  }
}

/* 0 = it has none. The first process of a namespace starts the program before it can adopt others. */
pid_t oldest_child_of(pid_t parent) {
  pid_t oldest = 0;
  struct times times, of_oldest = {0};
  read_table(SIZE_MAX);
  for (size_t at = 0; at < table_size; at++) {
    if (table[at].parent != parent || !read_times(table[at].pid, &times)) continue;
    if (oldest != 0 && times.began >= of_oldest.began) continue;
    oldest = table[at].pid;
    of_oldest = times;
  }
  return oldest;
}
