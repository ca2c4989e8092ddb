/*
 * `launcher --probe`: prints what this host supports as one line of JSON with an errno per layer, 0 = works. Each
 * layer is tried in a child process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* The same in namespaces of its own. */
static int try_in_namespaces(int (*attempt)(void)) {
  pid_t pid = fork_into_namespaces();
  if (pid < 0) return errno;
  if (pid == 0) _exit(attempt() & 0xff);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int try_namespaces(void) { return try_in_namespaces(enter_own_proc); }

/* A file system of its own, in which a path outside the rules is hidden and nothing can be written. */
static int enter_probe_mounts(void) {
  static struct plan plan = {.rules = {{"/usr", access_read}}, .rule_count = 1};
  int user_error, error = enter_own_proc();
  if (error == 0) error = enter_own_mounts(&plan, &user_error);
  if (error != 0) return error;
  return open("/usr/location-agent-probe", O_CREAT | O_WRONLY, 0600) == -1 ? 0 : EOPNOTSUPP;
}

static int try_mounts(void) { return try_in_namespaces(enter_probe_mounts); }

/* A run's user reads this program, and enters a folder that only its own view has. */
static int become_probe_user(void) {
  static const char made[] = "/var/location-agent-probe/folder";
  static char own[PATH_MAX], *environment[] = {NULL};
  static struct plan plan = {.rules = {{"/usr", access_read}, {made, access_list}, {own, access_read}},
                             .rule_count = 3,
                             .environment = environment};
  struct stat status;
  plan.run_user = first_run_user; /* no launcher has the process id 0 */
  int user_error = 0, error = readlink("/proc/self/exe", own, sizeof own - 1) > 0 ? enter_own_proc() : errno;
  if (error == 0) error = enter_own_mounts(&plan, &user_error);
  if (error == 0) error = user_error;
  if (error == 0) error = become_run_user(&plan);
  if (error == 0) error = drop_capabilities();
  if (error != 0) return error;
  if (access(own, R_OK | X_OK) != 0 || access("/usr", R_OK | X_OK) != 0) return errno;
  return stat("/var", &status) != 0 || stat(made, &status) == 0 ? 0 : errno;
}

/* Only root can give a run a user of its own. */
static int try_user(void) { return geteuid() != 0 ? 0 : try_in_namespaces(become_probe_user); }

/* A call with an address, judged by another process. The rule refuses every address. */
static int try_network(void) {
  static struct plan plan = {.limits_network = true};
  int error, status = 0;
  if (!add_network_rule("deny@::/0@0-65535")) return EINVAL;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || (error = prepare_network(&plan)) != 0) return errno;
  pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if ((error = prepare_handover()) != 0) _exit(error & 0xff);
    if ((error = confine_network(false)) != 0) _exit(error & 0xff);
    struct sockaddr_in target = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(0xA9FEA9FE)}};
    int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool refused = connect(probe, (struct sockaddr *)&target, sizeof target) == -1 && errno == EACCES;
    _exit(refused ? 0 : EOPNOTSUPP);
  }
  take_network();
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
                {"namespaces", try_namespaces},
                {"mounts", try_mounts},
                {"user", try_user},
                {"network", try_network}};
  printf("{\"uid\":%u,\"landlockVersion\":%d,\"userNamespace\":%s,\"copiesSockets\":%s,\"errors\":{", geteuid(),
         landlock_version(), needs_user_namespace() ? "true" : "false", can_copy_descriptors() ? "true" : "false");
  for (size_t at = 0; at < sizeof layers / sizeof *layers; at++) {
    fflush(stdout);
    int error = try_in_child(layers[at].attempt);
    printf("%s\"%s\":%d", at == 0 ? "" : ",", layers[at].name, error);
  }
  printf("}}\n");
  return fflush(stdout) == 0 ? 0 : 1;
}
