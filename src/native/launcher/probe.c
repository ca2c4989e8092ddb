/*
 * `launcher --probe`: prints what this host supports as one line of JSON with an errno per layer, 0 = works. Each
 * layer is tried in a child process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

/* Runs `attempt` in a child; returns its answer: 0 or an errno. */
static int try_in_child(int (*attempt)(void)) {
  pid_t pid = fork();
  if (pid == 0) _exit(attempt() & 0xff);
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (pid < 0) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int try_filter(void) {
  static struct plan plan = {.programs = true};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  int error = install_filter(&plan, false, getpid());
  if (error != 0) return error;
  /* A host may accept a filter and ignore it (emulators do). */
  return syscall(SYS_add_key, NULL, NULL, NULL, 0, 0) == -1 && errno == EPERM ? 0 : EOPNOTSUPP;
}

static int try_landlock(void) {
  static struct plan plan = {.rules = {{"/proc", access_read}}, .rule_count = 1};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  int error = install_landlock(&plan);
  if (error != 0) return error;
  return open("/", 0) == -1 && errno == EACCES ? 0 : EOPNOTSUPP;
}

static int try_no_new_privs(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno; }

static int try_namespaces(void) {
  pid_t pid = fork_into_namespaces();
  if (pid < 0) return errno;
  if (pid == 0) _exit(enter_own_proc() & 0xff);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int print_probe(void) {
  const struct {
    const char *name;
    int (*attempt)(void);
  } layers[] = {{"noNewPrivs", try_no_new_privs},
                {"capabilities", drop_capabilities},
                {"seccomp", try_filter},
                {"landlock", try_landlock},
                {"namespaces", try_namespaces}};
  printf("{\"uid\":%u,\"landlockVersion\":%d,\"userNamespace\":%s,\"errors\":{", geteuid(), landlock_version(),
         needs_user_namespace() ? "true" : "false");
  for (size_t at = 0; at < sizeof layers / sizeof *layers; at++) {
    fflush(stdout);
    int error = try_in_child(layers[at].attempt);
    printf("%s\"%s\":%d", at == 0 ? "" : ",", layers[at].name, error);
  }
  printf("}}\n");
  return fflush(stdout) == 0 ? 0 : 1;
}
