/*
 * Makes every mount of this namespace read-only and without set-uid programs. Landlock does not cover changes of
 * modes, owners, times and extended attributes; a read-only mount refuses them all.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"
#include "mounts.h"

static unsigned long kept_flags(const char *path) {
  struct statvfs found;
  if (statvfs(path, &found) != 0) return 0;
  return (found.f_flag & ST_NODEV ? MS_NODEV : 0UL) | (found.f_flag & ST_NOEXEC ? MS_NOEXEC : 0UL);
}

/* A bind remount keeps the flags for access times if it names none. */
static int remount(const char *path, unsigned long flags) {
  return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | kept_flags(path) | flags, NULL) == 0 ? 0 : errno;
}

/* mountinfo writes spaces, tabs, newlines and backslashes as three octal digits. */
static void unescape(char *text) {
  char *to = text;
  for (char *at = text; *at != '\0';) {
    if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] != '\0' && at[3] != '\0') {
      *to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
      at += 4;
    } else {
      *to++ = *at++;
    }
  }
  *to = '\0';
}

static bool is_read_only(const char *path) {
  struct statvfs found;
  /* What cannot be reached by its path is below another mount, so a program cannot reach it either. */
  return statvfs(path, &found) != 0 || (found.f_flag & ST_RDONLY) != 0;
}

/* Before Linux 5.12: one mount after the other. The list is read first, because a remount changes it. */
static int remount_each(void) {
  int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  size_t room = 65536, length = 0;
  char *list = malloc(room + 1);
  for (ssize_t got = 1; list != NULL && got > 0; length += got > 0 ? (size_t)got : 0) {
    if (length == room) {
      char *larger = realloc(list, (room *= 2) + 1);
      if (larger == NULL) free(list);
      list = larger;
      if (list == NULL) break;
    }
    got = read(fd, list + length, room - length);
  }
  close(fd);
  if (list == NULL) return ENOMEM;
  list[length] = '\0';
  int error = 0;
  for (char *line = strtok(list, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char *path = line;
    for (int field = 0; field < 4 && path != NULL; field++) path = strchr(path, ' ') ? strchr(path, ' ') + 1 : NULL;
    if (path == NULL) continue;
    path[strcspn(path, " ")] = '\0';
    unescape(path);
    int failed = remount(path, MS_RDONLY);
    if (failed != 0 && !is_read_only(path)) error = failed;
  }
  free(list);
  return error;
}

static int change(const char *path, unsigned flags, struct mount_change what) {
  return syscall(nr_mount_setattr_call, AT_FDCWD, path, flags, &what, sizeof what) == 0 ? 0 : errno;
}

int make_all_read_only(void) {
  int error = change("/", at_recursive, (struct mount_change){.set = attr_read_only | attr_no_suid});
  /* Container profiles that are older than the call answer EPERM. */
  return error == ENOSYS || error == EPERM ? remount_each() : error;
}

int make_writable(const char *path) {
  int error = change(path, 0, (struct mount_change){.set = attr_no_suid | attr_no_dev, .clear = attr_read_only});
  return error == ENOSYS || error == EPERM ? remount(path, MS_NODEV) : error;
}
