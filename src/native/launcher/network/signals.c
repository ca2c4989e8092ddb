/*
 * Calls that name another process: signals, limits, priorities. Without a process namespace, the supervisor's own
 * threads and the agent's other programs have the program's user, so the program may name only processes of its run.
 * These calls pass numbers, which nobody can change after the check.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "network.h"

enum { most_ancestors = 10000, most_tries = 5 };

bool names_process(const struct seccomp_notif *asked) {
  switch (asked->data.nr) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
    case SYS_prlimit64:
    case SYS_sched_setaffinity:
    case SYS_sched_setscheduler:
    case SYS_sched_setparam:
    case SYS_sched_setattr:
    case SYS_setpriority:
    case SYS_ioprio_set:
      return true;
    default:
      return false;
  }
}

/* The sandbox of a browser has a process namespace, which contains only its own processes. */
static bool has_own_processes(pid_t pid) {
  char path[64];
  struct stat own, theirs;
  snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
  return stat("/proc/self/ns/pid", &own) == 0 && stat(path, &theirs) == 0 && own.st_ino != theirs.st_ino;
}

/* 0 if the process, or thread, descends from the supervisor, which adopts the orphans of the run; else an errno. */
static int judge_process(pid_t pid) {
  pid_t own = getpid();
  for (int tries = 0; tries < most_tries; tries++) {
    struct process process;
    if (!read_process(pid, &process)) return ESRCH;
    if (process.group == own) return EPERM;
    for (int steps = 0; process.parent != own; steps++) {
      if (process.parent <= 1 || steps == most_ancestors) return EPERM;
      if (!read_process(process.parent, &process)) break; /* it has exited; its child has another parent now */
    }
    if (process.parent == own) return 0;
  }
  return EPERM;
}

/* All processes of a group are in one session, and the program's session and those below it are the run's. */
static int judge_group(pid_t group) {
  if (getpgid(group) == group) return judge_process(group);
  DIR *processes = opendir("/proc");
  if (processes == NULL) return EPERM;
  int error = ESRCH;
  for (struct dirent *entry; error == ESRCH && (entry = readdir(processes)) != NULL;) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    pid_t pid = (pid_t)atoi(entry->d_name);
    if (getpgid(pid) == group) error = judge_process(pid);
  }
  closedir(processes);
  return error;
}

int judge_process_call(const struct seccomp_notif *asked) {
  const __u64 *args = asked->data.args;
  pid_t pid;
  bool is_group = false;
  if (has_own_processes((pid_t)asked->pid)) return is_still_valid(asked->id) ? 0 : -EINTR;
  switch (asked->data.nr) {
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo: /* the kernel compares the thread with its process */
      pid = (pid_t)args[1];
      break;
    case SYS_setpriority:
    case SYS_ioprio_set:
      is_group = (int)args[0] == (asked->data.nr == SYS_setpriority ? 1 /* PRIO_PGRP */ : 2 /* IOPRIO_WHO_PGRP */);
      pid = (pid_t)args[1];
      break;
    default:
      is_group = asked->data.nr == SYS_kill && (pid_t)args[0] < 0;
      pid = is_group ? -(pid_t)args[0] : (pid_t)args[0];
  }
  if (pid <= 0) return -EINVAL;
  if (is_group && pid == 1) return -EPERM; /* kill(-1) means everyone */
  return -(is_group ? judge_group(pid) : judge_process(pid));
}
