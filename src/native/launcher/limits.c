/* The limits of a running program: checked repeatedly, and more often when it has many processes. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "launcher.h"

/*
 * This many more threads on the machine than at the last check trigger a check at once, because a fork bomb grows
 * that fast.
 */
enum { sudden_threads = 64, soon_ms = 20, usual_ms = 100, disk_ms = 800 };

static const struct plan *plan;
static pid_t program;
static double next_check;
static double next_disk_check;
static unsigned long threads_at_last_check;
/* Set by a check during a scan of the folders. */
static const char *exceeded_during_scan;

double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

void begin_limits(const struct plan *of, pid_t pid) {
  plan = of;
  program = pid;
  next_check = now_ms() + usual_ms;
  next_disk_check = now_ms() + disk_ms;
  threads_at_last_check = threads_of_machine();
}

double next_limit_check(void) { return next_check; }

static bool has_many_more_threads(void) { return threads_of_machine() >= threads_at_last_check + sudden_threads; }

/*
 * Among hundreds of busy processes, a supervisor without priority needs seconds for a single check, and so does the
 * agent for each of its turns. So the processes of a sudden crowd near the limit are stopped while they are counted,
 * and continue if they are within the limit. No other check stops processes.
 */
static size_t max_running(uint64_t before) {
  uint64_t limit = plan->programs_at_once > 0 ? plan->programs_at_once : plan->processes;
  if (has_priority || limit == 0) return SIZE_MAX;
  return (size_t)(limit / 4 > before + sudden_threads ? limit / 4 : before + sudden_threads);
}

static const char *limit_exceeded_by(const struct usage *usage) {
  if (plan->processes > 0 && usage->threads > plan->processes) return "processes";
  if (plan->programs_at_once > 0 && usage->processes > plan->programs_at_once) return "processes";
  if (plan->cpu_seconds > 0 && usage->cpu_seconds > (double)plan->cpu_seconds) return "cpuSeconds";
  if (plan->memory_bytes > 0 && usage->rss_bytes > plan->memory_bytes &&
      proportional_bytes_of_descendants() > plan->memory_bytes) {
    return "memoryBytes";
  }
  return NULL;
}

/* The name of an exceeded limit, or NULL. `crowded` = check again soon. */
static const char *exceeded_process_limit(bool *crowded) {
  static uint64_t processes_before;
  struct usage usage;
  const char *limit;
  size_t stop_above = max_running(processes_before);
  bool in_a_crowd = processes_before > sudden_threads || has_many_more_threads();
  /* Some forked before they were stopped; the next pass finds their children. */
  for (int passes_left = 8;; passes_left--) {
    measure_descendants(&usage, stop_above, in_a_crowd);
    limit = limit_exceeded_by(&usage);
    if (limit != NULL || usage.stopped == 0 || passes_left == 0) break;
  }
  /* A program that exceeds a limit is killed next; it stays stopped until then. */
  if (limit == NULL) release_descendants();
  *crowded = usage.processes > processes_before + sudden_threads ||
             (plan->processes > 0 && usage.threads > plan->processes / 2);
  processes_before = usage.processes;
  return limit;
}

/* True if the supervisor has to act: a request from the agent, SIGTERM, or a SIGCHLD (orphans exit all the time). */
static bool has_event(void) {
  struct pollfd line = {agent_line, POLLIN, 0};
  siginfo_t end = {.si_pid = 0};
  sigset_t pending;
  sigpending(&pending);
  return poll(&line, 1, 0) > 0 || sigismember(&pending, SIGTERM) == 1 ||
         (waitid(P_PID, (id_t)program, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0);
}

/* A scan of thousands of files must not delay an event, or the check for a fork bomb that starts at the same time. */
static bool must_stop_scan(void) {
  if (has_event()) return true;
  if (!has_many_more_threads()) return false;
  bool crowded;
  exceeded_during_scan = exceeded_process_limit(&crowded);
  threads_at_last_check = threads_of_machine();
  return exceeded_during_scan != NULL;
}

static const char *exceeded_disk_limit(void) {
  exceeded_during_scan = NULL;
  bool is_too_much = written_bytes(plan, must_stop_scan) > plan->disk_bytes;
  return is_too_much ? "diskBytes" : exceeded_during_scan;
}

/* The time of the next check: a check that started at `began` takes at most 1/`share` of a core. */
static double next_after(double began, double least_ms, double share) {
  double now = now_ms(), wait_ms = (now - began) * share;
  return now + (wait_ms < least_ms ? least_ms : wait_ms);
}

const char *exceeded_limit(double now) {
  if (now < next_check && !has_many_more_threads()) return NULL;
  bool crowded;
  const char *limit = exceeded_process_limit(&crowded);
  threads_at_last_check = threads_of_machine();
  next_check = crowded ? next_after(now, soon_ms, 4) : next_after(now, usual_ms, 150);
  if (limit == NULL && plan->disk_bytes > 0 && (now = now_ms()) >= next_disk_check) {
    limit = exceeded_disk_limit();
    next_disk_check = next_after(now, disk_ms, 300);
  }
  return limit;
}
