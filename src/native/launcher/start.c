/* Starts the program, in namespaces if possible, and waits until it runs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

/* Reports each failed set-up step of the child, until the program runs (true) or cannot run (false). */
static bool wait_for_exec(int failures, struct plan *plan, bool *again) {
  struct step_failure failure;
  for (;;) {
    ssize_t got = read(failures, &failure, sizeof failure);
    if (got < 0 && errno == EINTR) continue;
    if (got != (ssize_t)sizeof failure) return true;
    failure.step[sizeof failure.step - 1] = '\0';
    if (strcmp(failure.step, "namespaces") == 0) {
      report_event("missing namespaces %d", failure.error);
      plan->namespaces = false;
      *again = true;
      return false;
    }
    if (strcmp(failure.step, "mounts") == 0) {
      report_event("missing mounts %d", failure.error);
      plan->mounts = false;
      *again = true;
      return false;
    }
    if (strcmp(failure.step, "exec") == 0 || strcmp(failure.step, "network") == 0) {
      report_event("failed %s %d", failure.step, failure.error);
      return false;
    }
    report_event("missing %s %d", failure.step, failure.error);
  }
}

bool start_program(struct plan *plan, struct started *started) {
  int failures[2], statuses[2] = {-1, -1};
  if (pipe2(failures, O_CLOEXEC) != 0 || (plan->namespaces && pipe2(statuses, O_CLOEXEC) != 0)) {
    report_event("failed pipe %d", errno);
    return false;
  }
  int unprepared = prepare_network(plan);
  if (unprepared != 0) {
    report_event("failed network %d", unprepared);
    return false;
  }
  bool in_namespaces = plan->namespaces;
  pid_t pid = in_namespaces ? fork_into_namespaces() : fork();
  if (pid == 0 && in_namespaces) {
    close(failures[0]);
    close(statuses[0]);
    _exit(run_init(plan, failures[1], statuses[1]));
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
    report_event("failed fork %d", error);
    return false;
  }
  bool again = pid < 0;
  if (pid < 0) {
    report_event("missing namespaces %d", error);
    plan->namespaces = false;
  }
  take_network(); /* a program that it leaves unanswered reports the failure */
  bool running = pid > 0 && wait_for_exec(failures[0], plan, &again);
  close(failures[0]);
  if (running) {
    *started = (struct started){pid, statuses[0]};
    return true;
  }
  if (statuses[0] >= 0) close(statuses[0]);
  if (pid > 0) waitpid(pid, NULL, 0);
  if (!again) return false;
  abandon_network();
  return start_program(plan, started);
}
