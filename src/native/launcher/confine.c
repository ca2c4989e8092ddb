/* The steps in the child, from a copy of the launcher to the customer's program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

/*
 * Drops all capabilities permanently: root without them is a normal user that owns root's files. Without capabilities
 * the calls are refused, and there is nothing to drop.
 */
int drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return errno;
  if ((data[0].permitted | data[1].permitted) == 0) return 0;
  for (int capability = 0; capability < 64; capability++) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno == EINVAL) break;
  }
  /* Without this, an exec as uid 0 would regain what the bounding set still holds. */
  prctl(PR_SET_SECUREBITS,
        SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
            SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
        0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  memset(data, 0, sizeof data);
  header.version = _LINUX_CAPABILITY_VERSION_3;
  header.pid = 0;
  return syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}

static void limit(int resource, rlim_t soft, rlim_t hard) {
  struct rlimit now;
  if (getrlimit(resource, &now) != 0) return;
  if (now.rlim_max != RLIM_INFINITY && hard > now.rlim_max) hard = now.rlim_max;
  if (soft > hard) soft = hard;
  struct rlimit wanted = {soft, hard};
  setrlimit(resource, &wanted);
}

/*
 * Limits of each single process; the supervisor enforces those of all together. Never set RLIMIT_AS: V8 and browsers
 * reserve address space that they do not use.
 */
static void set_limits(const struct plan *plan, bool in_namespaces) {
  limit(RLIMIT_CORE, 0, 0);
  if (plan->disk_bytes > 0) limit(RLIMIT_FSIZE, plan->disk_bytes, plan->disk_bytes);
  limit(RLIMIT_NOFILE, 8192, 8192);
  if (plan->cpu_seconds > 0) limit(RLIMIT_CPU, plan->cpu_seconds + 1, plan->cpu_seconds + 2);
  limit(RLIMIT_MEMLOCK, 64 * 1024, 64 * 1024);
  limit(RLIMIT_MSGQUEUE, 64 * 1024, 64 * 1024);
  if (plan->processes > 0 && getuid() != 0) {
    /*
     * Counts per user and user namespace; outside of one, the agent and other runs count too. Root is exempt. Above the
     * supervisor's limit: at the limit itself the kernel would refuse to fork, and the supervisor would see nothing.
     */
    rlim_t room = in_namespaces ? plan->processes * 5 / 4 + 16 : threads_of_machine() + plan->processes + 1024;
    limit(RLIMIT_NPROC, room, room);
  }
}

static void reset_signals(void) {
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void report_missing(int failures, const char *step, int error) {
  struct step_failure missing = {.error = error};
  snprintf(missing.step, sizeof missing.step, "%s", step);
  ssize_t written = write(failures, &missing, sizeof missing);
  (void)written;
}

void become_program(const struct plan *plan, bool in_namespaces, int failures, struct step_failure *failure) {
  pid_t parent = getppid();
  setsid();
  if (plan->yields) setpriority(PRIO_PROCESS, 0, 10);
  reset_signals();
  int error = in_namespaces ? become_run_user(plan) : 0;
  if (error != 0) {
    failure->error = error;
    snprintf(failure->step, sizeof failure->step, "exec");
    return;
  }
  set_limits(plan, in_namespaces);
  error = drop_capabilities();
  if (error != 0) report_missing(failures, "capabilities", error);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  /* After the capabilities, because dropping them resets it. */
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(1);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) report_missing(failures, "no_new_privs", errno);
  if ((error = prepare_handover()) != 0) {
    failure->error = error;
    snprintf(failure->step, sizeof failure->step, "network");
    return;
  }
  if (plan->landlock && (error = install_landlock(plan)) != 0) report_missing(failures, "landlock", error);
  if (filter_supported() && (error = install_filter(plan, in_namespaces, getpid())) != 0) {
    report_missing(failures, "seccomp", error);
  }
  if ((error = confine_network(in_namespaces)) != 0) {
    failure->error = error;
    snprintf(failure->step, sizeof failure->step, "network");
    return;
  }
  execve(plan->program[0], plan->program, plan->environment);
  failure->error = errno;
  snprintf(failure->step, sizeof failure->step, "exec");
}
