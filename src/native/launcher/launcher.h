/*
 * Starts one program of a customer with as little reach as this host allows, stays beside it, and leaves nothing of it
 * behind. File descriptor 4 is the line to the agent: the program's environment comes in, one line per event goes out.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { agent_line = 4, most_paths = 256, most_protected = 256 };

/* What a folder or file is opened for. */
enum access { access_list, access_read, access_use, access_write };

struct path_rule {
  const char *path;
  enum access access;
};

struct plan {
  pid_t agent;
  /* Process and thread ids that get no signal, and groups as negative numbers. */
  int protected[most_protected];
  size_t protected_count;
  /* Own PID, IPC and mount namespaces. */
  bool namespaces;
  /* It may start programs of its own. */
  bool programs;
  /* A browser's own sandbox may make user namespaces. */
  bool user_namespaces;
  bool landlock;
  struct path_rule rules[most_paths];
  size_t rule_count;
  /* 0 = no bound. */
  uint64_t memory_bytes;
  uint64_t cpu_seconds;
  uint64_t disk_bytes;
  /* Processes and threads; and processes alone. */
  uint64_t processes;
  uint64_t programs_at_once;
  /* It may start hundreds of programs, and the supervisor cannot come before them: they come after everyone else. */
  bool yields;
  /* What stands at /tmp in the program's own mounts; NULL = the host's. */
  const char *temporary;
  /* Files and folders below the writable folders; more count as endless. */
  uint64_t files;
  char **program;
  char **environment;
};

/* What a step of the child's own set-up came to; `step` is empty when the program runs. */
struct step_failure {
  char step[24];
  int error;
};

/* environment.c: reads the environment from the agent's line; NULL when it is not whole. */
char **read_environment(void);

/* confine.c: makes this process the program. Returns only when that failed, in `failure`. */
void become_program(const struct plan *plan, bool in_namespaces, int failures, struct step_failure *failure);
int drop_capabilities(void);

/* filter.c: 0 or an errno. `own` is the process that will be the program. */
int install_filter(const struct plan *plan, bool in_namespaces, pid_t own);
bool filter_supported(void);

/* landlock.c */
int landlock_version(void);
int install_landlock(const struct plan *plan);

/* namespaces.c */
bool needs_user_namespace(void);
pid_t fork_into_namespaces(void);
int enter_own_proc(void);
int enter_own_tmp(const struct plan *plan);
int run_init(const struct plan *plan, int failures, int statuses);

/* usage.c: of all descendants of this process. */
struct usage {
  uint64_t processes;
  uint64_t threads; /* the first of each process included */
  uint64_t rss_bytes;
  double cpu_seconds;
  size_t stopped; /* by this pass */
};
/* Set by supervise.c: the supervisor runs before the programs that it counts. */
extern bool has_priority;
/*
 * Stops the descendants while it counts them if there are more than `most_running`. `in_a_crowd` = waits for no process, and
 * leaves out the processor time of those that have ended.
 */
void measure_descendants(struct usage *usage, size_t most_running, bool in_a_crowd);
void release_descendants(void);
uint64_t proportional_bytes_of_descendants(void);
unsigned long threads_of_machine(void);
bool reap_within(long milliseconds);
void kill_descendants(void);
void signal_descendants(int number, pid_t except);
pid_t oldest_child_of(pid_t parent);

/* disk.c: bytes below the writable folders; a tree of too many files counts as endless. `busy` = stop, and answer 0. */
uint64_t written_bytes(const struct plan *plan, bool (*busy)(void));

/* start.c: starts the program and returns true once it runs; reports why if it cannot run. */
struct started {
  pid_t pid;
  int statuses; /* on which the namespace's first process reports how the program ended; -1 without namespaces */
};
bool start_program(struct plan *plan, struct started *started);

/* limits.c: `begin_limits` comes first; `exceeded_limit` checks what is due and names an exceeded limit, or NULL. */
double now_ms(void);
void begin_limits(const struct plan *plan, pid_t program);
double next_limit_check(void);
const char *exceeded_limit(double now);

/* supervise.c: returns the exit code after the program's end. */
int supervise(const struct plan *plan);
void report_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* probe.c */
int print_probe(void);

#endif
