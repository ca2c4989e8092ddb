/*
 * Namespaces for processes, mounts and System V objects: the program sees only its own processes, and when its first
 * process exits, the kernel kills all others. Without CAP_SYS_ADMIN they belong to a user namespace that maps only
 * our own user.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"
#include "mounts.h"

bool needs_user_namespace(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return true;
  return (data[0].effective & (1U << CAP_SYS_ADMIN)) == 0;
}

static bool write_text(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = (ssize_t)strlen(text), written = write(fd, text, (size_t)length);
  close(fd);
  return written == length;
}

/* Ids of the owner, read before the namespaces are created, because inside no user is mapped at first. */
static bool own_user;
static uid_t own_uid;
static gid_t own_gid;

/* The namespace's first process maps its own user and group, which needs no privilege. 0 or an errno. */
static int map_own_user(void) {
  char map[64];
  write_text("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "%u %u 1", own_uid, own_uid);
  if (!write_text("/proc/self/uid_map", map)) return errno;
  snprintf(map, sizeof map, "%u %u 1", own_gid, own_gid);
  return write_text("/proc/self/gid_map", map) ? 0 : errno;
}

/*
 * Like fork. In the child all namespaces are new except what `enter_own_proc` has yet to do. -1 and errno if they are
 * refused.
 */
pid_t fork_into_namespaces(void) {
  own_user = needs_user_namespace();
  own_uid = geteuid();
  own_gid = getegid();
  unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | (own_user ? CLONE_NEWUSER : 0);
  /* A non-dumpable process belongs to root in /proc, so its child could not write its own maps. */
  if (own_user) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  int error = errno;
  if (pid != 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  errno = error;
  return pid;
}

/* Call this first in such a child: 0 or an errno. */
int enter_own_proc(void) {
  int error = own_user ? map_own_user() : 0;
  if (error != 0) return error;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 ? 0 : errno;
}

/* Programs that ignore TMPDIR and write to /tmp get their own folder there. 0 or an errno. */
int enter_own_tmp(const struct plan *plan) {
  if (plan->temporary == NULL) return 0;
  return mount(plan->temporary, "/tmp", NULL, MS_BIND, NULL) == 0 ? 0 : errno;
}

/* Since Linux 6.14 a process namespace has its own maximum id; before, this file applies to the whole machine. */
static bool has_own_ids(void) {
  struct utsname system;
  int major, minor;
  if (uname(&system) != 0 || sscanf(system.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 6 || (major == 6 && minor >= 14);
}

/*
 * Between two checks by the supervisor, and even for root, the kernel then refuses to fork. The value is above the
 * supervisor's limit, so that a program that reaches the limit is detected: the first 300 ids are not reused.
 */
static void bound_own_ids(const struct plan *plan) {
  char most[32];
  if (plan->processes == 0 || !has_own_ids()) return;
  snprintf(most, sizeof most, "%llu", (unsigned long long)plan->processes * 5 / 4 + 310);
  write_text("/proc/sys/kernel/pid_max", most);
}

static void report(int to, const struct step_failure *failure) {
  ssize_t written = write(to, failure, sizeof *failure);
  (void)written;
}

static void report_step(int to, const char *step, int error) {
  struct step_failure failure = {.error = error};
  snprintf(failure.step, sizeof failure.step, "%s", step);
  report(to, &failure);
}

/* The program's files. False = it must not start: half of its paths may be hidden. */
static bool enter_own_files(struct plan *plan, int failures) {
  int error = 0, user_error = 0;
  if (!plan->mounts) {
    /* The program uses TMPDIR anyway, so a failure is not fatal. */
    plan->run_user = 0;
    if ((error = enter_own_tmp(plan)) != 0) report_step(failures, "own /tmp", error);
    return true;
  }
  if ((error = enter_own_mounts(plan, &user_error)) != 0) {
    report_step(failures, "mounts", error);
    return false;
  }
  if (user_error != 0) report_step(failures, "user", user_error);
  /* A browser's sandbox maps the ids of its processes in /proc. Where the program is root's, it has none. */
  if (own_user) make_writable("/proc");
  return true;
}

/* The first process of the namespace: starts the program, reaps orphans, exits with the program. */
int run_init(struct plan *plan, int failures, int statuses) {
  struct step_failure failure = {.step = ""};
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  int error = enter_own_proc();
  if (error != 0) {
    report_step(failures, "namespaces", error);
    return 1;
  }
  bound_own_ids(plan);
  if (!enter_own_files(plan, failures)) return 1;
  pid_t program = fork();
  if (program == 0) {
    close(statuses);
    close(agent_line);
    become_program(plan, true, failures, &failure);
    report(failures, &failure);
    _exit(127);
  }
  close(failures);
  leave_network_to_program();
  for (int fd = 0; fd <= agent_line; fd++) close(fd);
  int status = 0;
  for (;;) {
    pid_t ended = wait(&status);
    if (ended == program) break;
    if (ended < 0 && errno != EINTR) return 1;
  }
  ssize_t written = write(statuses, &status, sizeof status);
  (void)written;
  return 0;
}
