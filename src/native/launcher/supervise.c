/*
 * The process that stays: it starts the program, watches what all of it uses, and ends last. Events to the agent, one line
 * each: `running`, `missing STEP ERRNO`, `failed STEP ERRNO`, `exceeded LIMIT`, `ended code N`, `ended signal N`. The agent may
 * say `end MILLISECONDS`: the program is asked to end, and killed when they are over. Anything else, or the end of the line,
 * kills it at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

static volatile sig_atomic_t told_to_end;

static void on_signal(int number) {
  if (number != SIGCHLD) told_to_end = 1;
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

/* Signals reach us only while we wait, so that none is missed between a look and the wait. */
static void catch_signals(sigset_t *while_waiting) {
  struct sigaction action = {.sa_handler = on_signal};
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int *number = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0}; *number != 0; number++) {
    sigaction(*number, &action, NULL);
    sigaddset(&blocked, *number);
  }
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  sigemptyset(while_waiting);
}

struct started {
  pid_t pid;
  int statuses; /* where the namespace's first process tells how the program ended; -1 without namespaces */
};

/* Passes on what the child could not set, until the program runs or can't. True when it runs. */
static bool wait_for_exec(int failures, bool *without_namespaces) {
  struct step_failure failure;
  for (;;) {
    ssize_t got = read(failures, &failure, sizeof failure);
    if (got < 0 && errno == EINTR) continue;
    if (got != (ssize_t)sizeof failure) return true;
    failure.step[sizeof failure.step - 1] = '\0';
    if (strcmp(failure.step, "namespaces") == 0) {
      say("missing namespaces %d", failure.error);
      *without_namespaces = true;
      return false;
    }
    if (strcmp(failure.step, "exec") == 0) {
      say("failed exec %d", failure.error);
      return false;
    }
    say("missing %s %d", failure.step, failure.error);
  }
}

static bool start(struct plan *plan, struct started *started) {
  int failures[2], statuses[2] = {-1, -1};
  if (pipe2(failures, O_CLOEXEC) != 0 || (plan->namespaces && pipe2(statuses, O_CLOEXEC) != 0)) {
    say("failed pipe %d", errno);
    return false;
  }
  bool in_namespaces = plan->namespaces;
  pid_t pid = in_namespaces ? fork_into_namespaces() : fork();
  if (pid == 0 && in_namespaces) {
    close(failures[0]);
    close(statuses[0]);
    _exit(be_init(plan, failures[1], statuses[1]));
  }
  if (pid == 0) {
    struct step_failure failure = {.step = ""};
    close(failures[0]);
    close(agent_line);
    become_program(plan, false, failures[1], &failure);
    ssize_t written = write(failures[1], &failure, sizeof failure);
    (void)written;
    _exit(127);
  }
  int error = errno;
  close(failures[1]);
  if (statuses[1] >= 0) close(statuses[1]);
  if (pid < 0 && !in_namespaces) {
    close(failures[0]);
    say("failed fork %d", error);
    return false;
  }
  bool without_namespaces = pid < 0;
  if (pid < 0) say("missing namespaces %d", error);
  bool running = pid > 0 && wait_for_exec(failures[0], &without_namespaces);
  close(failures[0]);
  if (running) {
    *started = (struct started){pid, statuses[0]};
    return true;
  }
  if (statuses[0] >= 0) close(statuses[0]);
  if (pid > 0) waitpid(pid, NULL, 0);
  if (!without_namespaces) return false;
  plan->namespaces = false;
  return start(plan, started);
}

/*
 * Among the thousands of a fork bomb, an ordinary process would hardly be let run, and where each session has its share of the
 * processor (sched_autogroup) neither would a nice one: so at once. Long work rests in between. What we start begins as
 * ordinary again. Refused without CAP_SYS_NICE: `most_running` and the plan's `yields` are for that.
 */
static bool comes_first;

static void come_before_others(bool at_once) {
  struct sched_param priority = {at_once ? 1 : 0};
  comes_first = sched_setscheduler(0, (at_once ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &priority) == 0 &&
                setpriority(PRIO_PROCESS, 0, -20) == 0;
}

/* So many more threads on the machine than at the last look are a reason to look at once: a fork bomb has them in no time. */
enum { sudden_threads = 64, soon_ms = 20 };

/*
 * Among hundreds of busy processes, one without priority needs seconds for a single look, and so does the agent for each of
 * its turns. So a sudden crowd that is well on its way to the limit is stopped while it is counted, and continued if it is
 * within the limit. No other look stops anything.
 */
static size_t most_running(const struct plan *plan, uint64_t before) {
  uint64_t most = plan->programs_at_once > 0 ? plan->programs_at_once : plan->processes;
  if (comes_first || most == 0) return SIZE_MAX;
  return (size_t)(most / 4 > before + sudden_threads ? most / 4 : before + sudden_threads);
}

static const char *limit_broken_by(const struct plan *plan, const struct usage *usage);

static unsigned long threads_at_last_look;

static bool has_many_more_threads(void) { return threads_of_machine() >= threads_at_last_look + sudden_threads; }

/* The name of the limit that is broken, or NULL. `crowded` = it is time to look more often. */
static const char *broken_limit(const struct plan *plan, bool *crowded) {
  static uint64_t before;
  struct usage usage;
  const char *limit;
  size_t most = most_running(plan, before);
  bool in_a_crowd = before > sudden_threads || has_many_more_threads();
  /* Some have forked before they were stopped: the next pass meets their children. */
  for (int passes_left = 8;; passes_left--) {
    measure_descendants(&usage, most, in_a_crowd);
    limit = limit_broken_by(plan, &usage);
    if (limit != NULL || usage.stopped == 0 || passes_left == 0) break;
  }
  /* What has broken a limit is killed next; until then it stays stopped. */
  if (limit == NULL) release_descendants();
  *crowded = usage.processes > before + sudden_threads || (plan->processes > 0 && usage.threads > plan->processes / 2);
  before = usage.processes;
  return limit;
}

static const char *limit_broken_by(const struct plan *plan, const struct usage *usage) {
  if (plan->processes > 0 && usage->threads > plan->processes) return "processes";
  if (plan->programs_at_once > 0 && usage->processes > plan->programs_at_once) return "processes";
  if (plan->cpu_seconds > 0 && usage->cpu_seconds > (double)plan->cpu_seconds) return "cpuSeconds";
  if (plan->memory_bytes > 0 && usage->rss_bytes > plan->memory_bytes &&
      proportional_bytes_of_descendants() > plan->memory_bytes) {
    return "memoryBytes";
  }
  return NULL;
}

static pid_t program_pid;

/* A long look must not delay the end. (Not any child's: orphans may end all the time.) */
static bool has_word(void) {
  struct pollfd line = {agent_line, POLLIN, 0};
  siginfo_t end = {.si_pid = 0};
  sigset_t pending;
  sigpending(&pending);
  return poll(&line, 1, 0) > 0 || sigismember(&pending, SIGTERM) == 1 ||
         (waitid(P_PID, (id_t)program_pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0);
}

static const struct plan *watched;
static const char *broken_meanwhile;

/* Among thousands of files, too, a fork bomb is looked at as soon as it begins. */
static bool is_cut_short(void) {
  if (has_word()) return true;
  if (!has_many_more_threads()) return false;
  bool crowded;
  broken_meanwhile = broken_limit(watched, &crowded);
  threads_at_last_look = threads_of_machine();
  return broken_meanwhile != NULL;
}

/* The limit that is broken, or NULL. */
static const char *broken_disk_limit(const struct plan *plan) {
  watched = plan;
  broken_meanwhile = NULL;
  bool is_too_much = written_bytes(plan, is_cut_short) > plan->disk_bytes;
  return is_too_much ? "diskBytes" : broken_meanwhile;
}

/* A look takes at most one part in `share` of a core, however many processes the host has, however many files the program. */
static double next_look(double before, double least_ms, double share) {
  double now = now_ms(), wait_ms = (now - before) * share;
  return now + (wait_ms < least_ms ? least_ms : wait_ms);
}

/* How the program is asked to end: as by Ctrl-C, on which test runners write their reports; then all of it by TERM. */
struct notice {
  double term_at;
  double kill_at;
};
static const double never = 1e18;

/* As we see it: the child of the namespace's first process, if there is one. */
static pid_t program_of(const struct started *started, bool namespaces) {
  return namespaces ? oldest_child_of(started->pid) : started->pid;
}

/* Reads what the agent says. False = kill. */
static bool take_notice(const struct started *started, bool namespaces, struct notice *notice) {
  char text[64];
  unsigned grace_ms;
  ssize_t length = read(agent_line, text, sizeof text - 1);
  if (length <= 0) return false;
  text[length] = '\0';
  if (sscanf(text, "end %u\n", &grace_ms) != 1) return false;
  if (notice->kill_at < never) return true;
  notice->kill_at = now_ms() + grace_ms;
  notice->term_at = notice->kill_at - grace_ms / 5.0;
  pid_t program = program_of(started, namespaces);
  /* A terminal signals the group in front, not the browsers and servers in groups of their own: they are needed longer. */
  if (program > 1) kill(-program, SIGINT);
  return true;
}

static void end_everything(const struct plan *plan, const struct started *started, bool ended) {
  /* The first process of a namespace takes all others with it; a program without children is the only one. */
  if (!ended && (plan->namespaces || !plan->programs)) {
    kill(started->pid, SIGKILL);
    if (reap_within(plan->namespaces ? 3000 : 50)) return;
  }
  kill_descendants();
}

static int tell_end(int status) {
  if (WIFSIGNALED(status)) say("ended signal %d", WTERMSIG(status));
  else say("ended code %d", WEXITSTATUS(status));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int supervise(const struct plan *asked) {
  static struct plan plan;
  plan = *asked;
  sigset_t while_waiting;
  catch_signals(&while_waiting);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  /* The agent's end is ours. It started us from its main thread, whose end is the process's. */
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (plan.agent != 0 && getppid() != plan.agent) return 70;
  plan.protected[plan.protected_count++] = getpid();
  plan.protected[plan.protected_count++] = -getpgrp();
  come_before_others(false);
  plan.yields = !comes_first && plan.programs_at_once > 0;
  struct started started;
  if (!start(&plan, &started)) return 127;
  program_pid = started.pid;
  say("running");
  come_before_others(true);
  for (int fd = 0; fd < agent_line; fd++) close(fd);

  int status = SIGKILL; /* what stands when the program did not end by itself */
  bool ended = false;
  double next = now_ms() + 100, next_disk = now_ms() + 800;
  threads_at_last_look = threads_of_machine();
  struct notice notice = {never, never};
  struct pollfd line = {agent_line, POLLIN, 0};
  while (!ended && !told_to_end) {
    /* Looks may be far apart; whether one is due is asked all the time. */
    double tick = now_ms() + 100, until = next < tick ? next : tick;
    if (notice.term_at < until) until = notice.term_at;
    double left = (until < notice.kill_at ? until : notice.kill_at) - now_ms();
    if (left > 0) {
      struct timespec timeout = {(time_t)(left / 1000), (long)((long)left % 1000) * 1000000L + 999999L};
      if (timeout.tv_nsec > 999999999L) timeout.tv_nsec = 999999999L;
      if (ppoll(&line, 1, &timeout, &while_waiting) > 0 && !take_notice(&started, plan.namespaces, &notice)) {
        told_to_end = 1;
      }
    }
    int one;
    pid_t pid;
    while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
      if (pid != started.pid) continue;
      status = one;
      ended = true;
    }
    double now = now_ms();
    if (ended || told_to_end || now >= notice.kill_at) break;
    if (now >= notice.term_at) {
      notice.term_at = never;
      /* Its end ends all: a shell that waits for its commands goes last. (A namespace's first process is deaf to it.) */
      pid_t program = program_of(&started, plan.namespaces);
      signal_descendants(SIGTERM, oldest_child_of(program) == 0 ? 0 : program);
    }
    if (now < next && !has_many_more_threads()) continue;
    bool crowded;
    const char *limit = broken_limit(&plan, &crowded);
    threads_at_last_look = threads_of_machine();
    next = crowded ? next_look(now, soon_ms, 4) : next_look(now, 100, 150);
    if (limit == NULL && plan.disk_bytes > 0 && (now = now_ms()) >= next_disk) {
      limit = broken_disk_limit(&plan);
      next_disk = next_look(now, 800, 300);
    }
    if (limit != NULL) {
      say("exceeded %s", limit);
      break;
    }
  }
  end_everything(&plan, &started, ended);
  if (ended && started.statuses >= 0 && read(started.statuses, &status, sizeof status) != sizeof status) {
    status = SIGKILL;
  }
  return tell_end(status);
}
