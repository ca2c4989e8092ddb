/*
 * Where the host refuses pidfd_getfd (the usual profiles of container engines do), the supervisor makes the program's
 * sockets itself, puts them into the program, and keeps a copy of each until the program no longer needs it.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "network.h"

/* Sockets for datagrams are never forgotten: one that is unknown counts as a stream, which ignores addresses. */
enum { max_kept = 16384, max_copies = 400, first_sweep = 200 };

struct kept {
  ino_t inode;
  int copy; /* -1 = dropped */
  bool is_stream;
  bool is_seen;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept kept[max_kept];
static size_t count, copies;

static struct kept *find(ino_t inode) {
  for (size_t at = 0; at < count; at++) {
    if (kept[at].inode == inode) return &kept[at];
  }
  return NULL;
}

static void drop(struct kept *entry) {
  if (entry->copy < 0) return;
  close(entry->copy);
  entry->copy = -1;
  copies--;
}

static bool read_inode(const char *path, ino_t *inode) {
  char link[64];
  unsigned long number;
  ssize_t length = readlink(path, link, sizeof link - 1);
  if (length < 0) return false;
  link[length] = '\0';
  if (sscanf(link, "socket:[%lu]", &number) != 1) {
    errno = ENOTSOCK;
    return false;
  }
  *inode = (ino_t)number;
  return true;
}

static void mark_sockets_of(const char *process) {
  char path[300];
  snprintf(path, sizeof path, "/proc/%s/fd", process);
  DIR *folder = opendir(path);
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char file[600];
    ino_t inode;
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    struct kept *found = read_inode(file, &inode) ? find(inode) : NULL;
    if (found != NULL) found->is_seen = true;
  }
  closedir(folder);
}

/* Drops the copies of sockets that no process has any more. With the lock. */
static void sweep(void) {
  DIR *processes = opendir("/proc");
  char own[16];
  if (processes == NULL) return;
  snprintf(own, sizeof own, "%d", getpid());
  for (size_t at = 0; at < count; at++) kept[at].is_seen = false;
  for (struct dirent *entry; (entry = readdir(processes)) != NULL;) {
    if (isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, own) != 0) mark_sockets_of(entry->d_name);
  }
  closedir(processes);
  size_t left = 0;
  for (size_t at = 0; at < count; at++) {
    if (!kept[at].is_seen) drop(&kept[at]);
    if (kept[at].copy >= 0 || !kept[at].is_stream) kept[left++] = kept[at];
  }
  count = left;
}

void sweep_sockets(void) {
  pthread_mutex_lock(&lock);
  sweep();
  pthread_mutex_unlock(&lock);
}

static bool keep(int socket, bool is_stream) {
  static size_t next_sweep = first_sweep;
  struct stat status;
  if (fstat(socket, &status) != 0) return false;
  pthread_mutex_lock(&lock);
  if (copies >= next_sweep || count == max_kept) {
    sweep();
    next_sweep = copies < first_sweep / 2 ? first_sweep : max_copies;
  }
  bool has_room = copies < max_copies && count < max_kept;
  if (has_room) {
    kept[count++] = (struct kept){status.st_ino, socket, is_stream, true};
    copies++;
  }
  pthread_mutex_unlock(&lock);
  return has_room;
}

/* A browser's sandbox has a network of its own, in which the supervisor cannot make sockets. */
static bool shares_network(pid_t pid) {
  char path[64];
  struct stat own, theirs;
  snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
  return stat("/proc/self/ns/net", &own) == 0 && stat(path, &theirs) == 0 && own.st_ino == theirs.st_ino;
}

int64_t make_socket(const struct seccomp_notif *asked) {
  int type = (int)asked->data.args[1];
  if (!shares_network((pid_t)asked->pid)) return -EACCES;
  int made = socket((int)asked->data.args[0], type | SOCK_CLOEXEC, (int)asked->data.args[2]);
  if (made < 0) return -errno;
  int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
  /* Kept first: the program may use the socket as soon as it has it. */
  if (!keep(made, kind == SOCK_STREAM || kind == SOCK_SEQPACKET)) {
    close(made);
    return -EMFILE;
  }
  struct seccomp_notif_addfd given = {
      .id = asked->id, .srcfd = (unsigned)made, .newfd_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0};
  int number = ioctl(network_listener(), SECCOMP_IOCTL_NOTIF_ADDFD, &given);
  if (number < 0) return errno == EMFILE ? -EMFILE : -EINTR;
  return number;
}

int kept_socket(pid_t pid, int number) {
  char path[64];
  ino_t inode;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
  if (!read_inode(path, &inode)) {
    if (errno == ENOENT) errno = EBADF;
    return -1;
  }
  pthread_mutex_lock(&lock);
  struct kept *found = find(inode);
  int copy = found == NULL || found->copy < 0 ? -1 : fcntl(found->copy, F_DUPFD_CLOEXEC, 0);
  int error = found == NULL ? EISCONN : found->copy < 0 ? EACCES : errno;
  pthread_mutex_unlock(&lock);
  if (copy < 0) errno = error;
  return copy;
}

void drop_stream(int socket) {
  struct stat status;
  if (fstat(socket, &status) != 0) return;
  pthread_mutex_lock(&lock);
  struct kept *found = find(status.st_ino);
  if (found != NULL && found->is_stream) {
    drop(found);
    *found = kept[--count];
  }
  pthread_mutex_unlock(&lock);
}
