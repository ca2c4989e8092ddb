/*
 * Starts one customer program with as little access as this host allows, supervises it, and leaves no process of it
 * behind. File descriptor 4 is the line to the agent: the program's environment arrives on it, and one line per event
 * is sent.
 */
#ifndef LAUNCHER_H
#define LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { agent_line = 4, max_paths = 256, max_protected = 256 };

/* Access rights for a folder or file. */
enum access { access_list, access_read, access_use, access_write };

/*
 * Ids that no user, container or service of a system has (UIDS-GIDS of systemd). Ours is that of the supervisor, which
 * lives as long as any process of the run, so no two runs have the same.
 */
enum { first_run_user = 1900000000 };

struct path_rule {
  const char *path;
  enum access access;
};

struct plan {
  pid_t agent;
  /* Process and thread ids that must not be signalled, and groups as negative numbers. */
  int protected[max_protected];
  size_t protected_count;
  /* Its own PID, IPC and mount namespaces. */
  bool namespaces;
  /* It may start other programs. */
  bool programs;
  /* A browser's own sandbox may create user namespaces. */
  bool user_namespaces;
  bool landlock;
  struct path_rule rules[max_paths];
  size_t rule_count;
  /* 0 = no limit. */
  uint64_t memory_bytes;
  uint64_t cpu_seconds;
  uint64_t disk_bytes;
  /* Processes and threads; and only processes. */
  uint64_t processes;
  uint64_t programs_at_once;
  /* It may start hundreds of programs, and the supervisor cannot get priority, so they get a lower one. */
  bool yields;
  /* The folder mounted at /tmp for the program; NULL = the host's. */
  const char *temporary;
  /* With namespaces: its own view of the file system, read-only except its own folders. */
  bool mounts;
  /* The run's own folder, which contains writable ones: one mount, so that files can be linked between them. */
  const char *own;
  /* The user of this run; 0 = the agent's. */
  unsigned run_user;
  /* A set-gid file of it would give nobody more rights than the run has. */
  bool may_set_group_id;
  /* Maximum number of files and folders below the writable folders; more count as unlimited size. */
  uint64_t files;
  /* Its calls with addresses are judged by the rules for the network. */
  bool limits_network;
  char **program;
  char **environment;
};

/* The result of a set-up step of the child; `step` is empty if the program runs. */
struct step_failure {
  char step[24];
  int error;
};

/* environment.c: reads the environment from the agent's line; NULL if it is incomplete. */
char **read_environment(void);

/* confine.c: turns this process into the program. Returns only on failure, with the cause in `failure`. */
void become_program(const struct plan *plan, bool in_namespaces, int failures, struct step_failure *failure);
int drop_capabilities(void);

/* filter.c: 0 or an errno. `own` is the process that will become the program. */
int install_filter(const struct plan *plan, bool in_namespaces, pid_t own);
bool filter_supported(void);
/* filter_rules.c: call it before the namespaces, in which other groups have no numbers. */
bool may_set_group_id(const struct plan *plan);

/* landlock.c */
int landlock_version(void);
int install_landlock(const struct plan *plan);

/*
 * network/handover.c, in the order of their calls: before the fork; in the program, before all filters and after
 * them (an errno = it must not run), and in every other process that the fork left with the program's end; in the
 * supervisor, which then answers the program's calls in threads of its own, and if no program has started.
 */
int prepare_network(const struct plan *plan);
int prepare_handover(void);
bool can_copy_descriptors(void);
int confine_network(bool in_namespaces);
void leave_network_to_program(void);
void take_network(void);
void abandon_network(void);
/* network/rules.c: false if the rule is malformed or there are too many. */
bool add_network_rule(const char *text);

/* namespaces.c */
bool needs_user_namespace(void);
pid_t fork_into_namespaces(void);
int enter_own_proc(void);
int enter_own_tmp(const struct plan *plan);
int run_init(struct plan *plan, int failures, int statuses);

/* mounts.c: 0 or an errno. `user_error` = why the program has no user of its own. */
int enter_own_mounts(struct plan *plan, int *user_error);

/* run_user.c: 0 or an errno. */
int become_run_user(const struct plan *plan);

/* usage.c: of all descendants of this process. */
struct usage {
  uint64_t processes;
  uint64_t threads; /* including the first thread of each process */
  uint64_t rss_bytes;
  double cpu_seconds;
  size_t stopped; /* stopped by this pass */
};
/* Set by supervise.c: the supervisor has priority over the programs that it counts. */
extern bool has_priority;
/*
 * Stops the descendants while it counts them if there are more than `max_running`. `in_a_crowd` = waits for no
 * process, and omits the processor time of those that have exited.
 */
void measure_descendants(struct usage *usage, size_t max_running, bool in_a_crowd);
void release_descendants(void);
uint64_t proportional_bytes_of_descendants(void);
unsigned long threads_of_machine(void);
bool reap_within(long milliseconds);
void kill_descendants(void);
void signal_descendants(int number, pid_t except);
pid_t oldest_child_of(pid_t parent);

/*
 * disk.c: bytes below the writable folders; a tree of too many files counts as unlimited. `busy` = stop, and return
 * 0.
 */
uint64_t written_bytes(const struct plan *plan, bool (*busy)(void));

/* start.c: starts the program and returns true once it runs; reports the reason if it cannot run. */
struct started {
  pid_t pid;
  int statuses; /* descriptor on which the namespace's first process reports the program's exit status; -1 without namespaces */
};
bool start_program(struct plan *plan, struct started *started);

/*
 * limits.c: call `begin_limits` first; `exceeded_limit` makes the checks that are due and returns the name of an
 * exceeded limit, or NULL.
 */
double now_ms(void);
void begin_limits(const struct plan *plan, pid_t program);
double next_limit_check(void);
const char *exceeded_limit(double now);

/* supervise.c: returns the exit code after the program has exited. */
int supervise(const struct plan *plan);
void report_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* probe.c */
int print_probe(void);

#endif
