/*
 * The supervisor: starts the program, watches its limits, and exits last. It sends events to the agent, one line
 * each: `running`, `missing STEP ERRNO`, `failed STEP ERRNO`, `exceeded LIMIT`, `ended code N`, `ended signal N`. The
 * agent may send `end MILLISECONDS`: the supervisor asks the program to exit, and kills it after that time. Any other
 * line, or the end of the input, kills the program at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher.h"

static volatile sig_atomic_t end_requested;

static void on_signal(int number) {
  if (number != SIGCHLD) end_requested = 1;
}

/* Signals are delivered only during the wait, so none is missed between a check and the wait. */
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

/*
 * During a fork bomb with thousands of processes, a normal process hardly runs. Neither does one with a better nice
 * value if each session has its own share of the processor (sched_autogroup), so the supervisor uses the real-time
 * class. Long work sleeps in between. Children start as normal processes. Refused without CAP_SYS_NICE; `max_running`
 * of limits.c and the plan's `yields` are for that case.
 */
bool has_priority;

static void raise_priority(bool real_time) {
  struct sched_param priority = {real_time ? 1 : 0};
  has_priority = sched_setscheduler(0, (real_time ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &priority) == 0 &&
                 setpriority(PRIO_PROCESS, 0, -20) == 0;
}

/*
 * The agent's request to end: SIGINT first, as for Ctrl-C, on which test runners write their reports; then SIGTERM to
 * all.
 */
struct end_request {
  double term_at;
  double kill_at;
};
static const double never = 1e18;

/* The program's pid in our namespace: the child of the namespace's first process, if there is one. */
static pid_t program_of(const struct started *started, bool namespaces) {
  return namespaces ? oldest_child_of(started->pid) : started->pid;
}

/* Reads a line from the agent. False = kill. */
static bool read_request(const struct started *started, bool namespaces, struct end_request *request) {
  char text[64];
  unsigned grace_ms;
  ssize_t length = read(agent_line, text, sizeof text - 1);
  if (length <= 0) return false;
  text[length] = '\0';
  if (sscanf(text, "end %u\n", &grace_ms) != 1) return false;
  if (request->kill_at < never) return true;
  request->kill_at = now_ms() + grace_ms;
  request->term_at = request->kill_at - grace_ms / 5.0;
  pid_t program = program_of(started, namespaces);
  /* A terminal signals only the foreground group. Browsers and servers in their own groups are needed longer. */
  if (program > 1) kill(-program, SIGINT);
  return true;
}

/* Waits for a signal or a line from the agent, at most until `until`. False = kill. */
static bool wait_until(double until, const sigset_t *while_waiting, const struct started *started, bool namespaces,
                       struct end_request *request) {
  double left = until - now_ms();
  if (left <= 0) return true;
  struct pollfd line = {agent_line, POLLIN, 0};
  struct timespec timeout = {(time_t)(left / 1000), (long)((long)left % 1000) * 1000000L + 999999L};
  if (timeout.tv_nsec > 999999999L) timeout.tv_nsec = 999999999L;
  return ppoll(&line, 1, &timeout, while_waiting) <= 0 || read_request(started, namespaces, request);
}

/* Reaps the children that have exited. True if `child` is one of them; `status` is its status then. */
static bool collect_children(pid_t child, int *status) {
  bool ended = false;
  int one;
  pid_t pid;
  while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
    if (pid != child) continue;
    *status = one;
    ended = true;
  }
  return ended;
}

static double earlier(double a, double b) { return a < b ? a : b; }

/* Watches the program until it exits (true; `status` is set), or has to be killed. */
static bool watch(const struct plan *plan, const struct started *started, const sigset_t *while_waiting, int *status) {
  struct end_request request = {never, never};
  while (!end_requested) {
    /* Checks may be far apart; this loop tests ten times a second whether one is due. */
    double until = earlier(next_limit_check(), now_ms() + 100);
    until = earlier(earlier(until, request.term_at), request.kill_at);
    if (!wait_until(until, while_waiting, started, plan->namespaces, &request)) end_requested = 1;
    if (collect_children(started->pid, status)) return true;
    double now = now_ms();
    if (end_requested || now >= request.kill_at) return false;
    if (now >= request.term_at) {
      request.term_at = never;
      /*
       * Its exit kills all others, so a shell that waits for its commands is signalled last. (A namespace's first
       * process ignores SIGTERM.)
       */
      pid_t program = program_of(started, plan->namespaces);
      signal_descendants(SIGTERM, oldest_child_of(program) == 0 ? 0 : program);
    }
    const char *limit = exceeded_limit(now);
    if (limit != NULL) {
      report_event("exceeded %s", limit);
      return false;
    }
  }
  return false;
}

static void end_everything(const struct plan *plan, const struct started *started, bool ended) {
  /* Killing a namespace's first process kills all others; a program without children is the only process. */
  if (!ended && (plan->namespaces || !plan->programs)) {
    kill(started->pid, SIGKILL);
    if (reap_within(plan->namespaces ? 3000 : 50)) return;
  }
  kill_descendants();
}

static int report_end(int status) {
  if (WIFSIGNALED(status)) report_event("ended signal %d", WTERMSIG(status));
  else report_event("ended code %d", WEXITSTATUS(status));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int supervise(const struct plan *given) {
  static struct plan plan;
  plan = *given;
  sigset_t while_waiting;
  catch_signals(&while_waiting);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  /* Exit when the agent exits. It started us from its main thread, which lives as long as the process. */
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (plan.agent != 0 && getppid() != plan.agent) return 70;
  plan.protected[plan.protected_count++] = getpid();
  plan.protected[plan.protected_count++] = -getpgrp();
  raise_priority(false);
  plan.yields = !has_priority && plan.programs_at_once > 0;
  struct started started;
  if (!start_program(&plan, &started)) return 127;
  report_event("running");
  raise_priority(true);
  for (int fd = 0; fd < agent_line; fd++) close(fd);

  int status = SIGKILL; /* unless the program exits by itself */
  begin_limits(&plan, started.pid);
  bool ended = watch(&plan, &started, &while_waiting, &status);
  end_everything(&plan, &started, ended);
  if (ended && started.statuses >= 0 && read(started.statuses, &status, sizeof status) != sizeof status) {
    status = SIGKILL;
  }
  return report_end(status);
}
