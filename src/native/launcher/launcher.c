/* launcher [options] -- program arguments…   |   launcher --probe */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

void report_event(const char *format, ...) {
  char line[256];
  va_list values;
  va_start(values, format);
  int length = vsnprintf(line, sizeof line - 1, format, values);
  va_end(values);
  if (length < 0) return;
  if ((size_t)length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  ssize_t written = write(agent_line, line, (size_t)length);
  (void)written; /* the agent has gone; nobody to report to */
}

static _Noreturn void usage_error(const char *argument) {
  dprintf(2, "launcher: bad argument: %s\n", argument);
  _exit(64);
}

static const char *value_of(const char *argument, const char *name) {
  size_t length = strlen(name);
  return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

static uint64_t number_of(const char *text, const char *argument) {
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (errno != 0 || *text < '0' || *text > '9' || *end != '\0') usage_error(argument);
  return number;
}

static void add_rule(struct plan *plan, const char *path, enum access access) {
  if (plan->rule_count == max_paths) usage_error("too many paths");
  plan->rules[plan->rule_count++] = (struct path_rule){path, access};
}

static void add_protected(struct plan *plan, const char *list) {
  while (*list != '\0' && plan->protected_count < max_protected - 2) {
    char *end;
    long id = strtol(list, &end, 10);
    if (end == list) usage_error(list);
    plan->protected[plan->protected_count++] = (int)id;
    list = *end == ',' ? end + 1 : end;
  }
}

static void parse(int argc, char **argv, struct plan *plan) {
  for (int at = 1; at < argc; at++) {
    const char *argument = argv[at], *value;
    if (strcmp(argument, "--") == 0) {
      plan->program = argv + at + 1;
      break;
    }
    if ((value = value_of(argument, "--list"))) add_rule(plan, value, access_list);
    else if ((value = value_of(argument, "--read"))) add_rule(plan, value, access_read);
    else if ((value = value_of(argument, "--use"))) add_rule(plan, value, access_use);
    else if ((value = value_of(argument, "--write"))) add_rule(plan, value, access_write);
    else if ((value = value_of(argument, "--agent"))) plan->agent = (pid_t)number_of(value, argument);
    else if ((value = value_of(argument, "--protect"))) add_protected(plan, value);
    else if ((value = value_of(argument, "--memory-bytes"))) plan->memory_bytes = number_of(value, argument);
    else if ((value = value_of(argument, "--cpu-seconds"))) plan->cpu_seconds = number_of(value, argument);
    else if ((value = value_of(argument, "--disk-bytes"))) plan->disk_bytes = number_of(value, argument);
    else if ((value = value_of(argument, "--processes"))) plan->processes = number_of(value, argument);
    else if ((value = value_of(argument, "--programs-at-once"))) plan->programs_at_once = number_of(value, argument);
    else if ((value = value_of(argument, "--tmp"))) plan->temporary = value;
    else if ((value = value_of(argument, "--files"))) plan->files = number_of(value, argument);
    else if ((value = value_of(argument, "--own"))) plan->own = value;
    else if (strcmp(argument, "--mounts") == 0) plan->mounts = true;
    else if (strcmp(argument, "--own-user") == 0) plan->run_user = first_run_user + (unsigned)getpid();
    else if ((value = value_of(argument, "--network"))) {
      plan->limits_network = true;
      if (!add_network_rule(value)) usage_error(argument);
    } else if (strcmp(argument, "--namespaces") == 0) plan->namespaces = true;
    else if (strcmp(argument, "--programs") == 0) plan->programs = true;
    else if (strcmp(argument, "--user-namespaces") == 0) plan->user_namespaces = true;
    else if (strcmp(argument, "--landlock") == 0) plan->landlock = true;
    else usage_error(argument);
  }
  if (plan->program == NULL || plan->program[0] == NULL) usage_error("no program");
}

/* Closes everything that the agent has open except the five descriptors for the launcher. */
static void close_inherited(void) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, agent_line + 1, ~0U, 0) == 0) return;
#endif
  long most = sysconf(_SC_OPEN_MAX);
  for (int fd = agent_line + 1; fd < (most > 0 && most < 65536 ? most : 65536); fd++) close(fd);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--probe") == 0) return print_probe();
  static struct plan plan = {.files = 200000};
  parse(argc, argv, &plan);
  close_inherited();
  fcntl(agent_line, F_SETFD, FD_CLOEXEC);
  /* The program must not read the supervisor's memory or descriptors, which include the agent's line. */
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  plan.environment = read_environment();
  if (plan.environment == NULL) {
    report_event("failed environment %d", EINVAL);
    return 70;
  }
  plan.may_set_group_id = may_set_group_id(&plan);
  return supervise(&plan);
}
